import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import t from 'tap';
import { exportClub } from '../../src/club-files/export.js';
import { importClub } from '../../src/club-files/import.js';
import { ClubMoveRefused } from '../../src/club-moves/errors.js';
import { abortMove, type MoveDatabases, moveClub, planMove, resumeMove } from '../../src/club-moves/moves.js';
import { reconcileClubs } from '../../src/club-moves/reconcile.js';
import { OperatorError } from '../../src/database/errors.js';
import { lockDeploys } from '../../src/deploy/locks.js';
import type { TestDatabase } from '../setup/database.js';
import { freePort } from '../setup/free-port.js';
import { emptyFolder } from '../setup/pages.js';
import { type Action, startProxy } from '../setup/proxy.js';
import { connectAsOperator, connectAsRuntime } from '../setup/runtime.js';
import { refused } from '../setup/send.js';
import { startService, type TestService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { until, untilWaitingForLocks } from '../setup/wait.js';

const between = (
  source: Pick<TestDatabase, 'migrationUrl'>,
  target: Pick<TestDatabase, 'migrationUrl'>,
  targetName = 'east',
): MoveDatabases => ({
  source: { url: source.migrationUrl, variable: 'MIGRATION_DATABASE_URL' },
  target: { url: target.migrationUrl, variable: 'TARGET_DATABASE_URL' },
  targetName,
});

const [west, east] = [await startService(t), await startService(t)];
const eastward = between(west.db, east.db);
const westward = between(east.db, west.db, 'west');

/** A club in the west with a member, a task, a shift with a signup and a wait, and a calendar link. */
async function makeClub(slug: string) {
  const id = await west.db.makeClub(slug);
  const anna = west.as('anna', 'Admin', id);
  await anna.post('/api/tasks', { title: 'Before' }, { 'idempotency-key': 'before' });
  const { body: shift } = await anna.post('/api/shifts', shiftRequest({ capacity: 1 }));
  await anna.post(`/api/shifts/${shift.id}/signup`);
  await west.as('ben', 'Member', id).post(`/api/shifts/${shift.id}/wait`);
  const { body: link } = await anna.put('/api/members/me/calendar');
  return { id, slug, anna, shiftId: shift.id, calendar: new URL(link.url, 'http://localhost').pathname };
}

const [inWest, inEast] = [await connectAsOperator(t, west.db), await connectAsOperator(t, east.db)];

const states = async (operator: pg.Client) =>
  (await operator.query('select slug, state, target from app.list_moves()')).rows;
const move = async (databases: MoveDatabases, slug: string) =>
  moveClub(databases, await planMove(databases, slug));
/** Nothing is served: every request is refused as if the service were busy. */
const MOVING = { ...refused(503, 'service_unavailable'), headers: { 'retry-after': '1' } };

t.test('a club moves with all that it has, and goes on at the target', async (t) => {
  const { id, slug, anna, shiftId, calendar } = await makeClub('rowing');
  const events = (await anna.get('/api/events?sort=-sequence')).body;
  t.ok((await move(eastward, slug)) > 0);
  t.same(await states(inWest), [{ slug, state: 'moved', target: 'east' }]);
  t.same(await states(inEast), []);
  for (const path of ['/api/tasks', '/api/members/me', '/api/clubs/current']) {
    t.match(await anna.get(path), MOVING, path);
  }
  t.match(await anna.post('/api/tasks', { title: 'Before' }, { 'idempotency-key': 'before' }), MOVING);
  t.match(await west.send('GET', calendar), MOVING);

  const there = east.as('anna', 'Admin', id);
  t.same((await there.get('/api/events?sort=-sequence')).body, events);
  t.match(await there.post('/api/tasks', { title: 'Before' }, { 'idempotency-key': 'before' }), {
    status: 201,
    headers: { 'idempotent-replayed': 'true' },
  });
  t.equal((await east.send('GET', calendar)).status, 200);
  await there.delete(`/api/shifts/${shiftId}/signup`);
  t.match((await there.get(`/api/shifts/${shiftId}`)).body, {
    signups: [{ memberName: 'ben' }],
    waitCount: 0,
  });
  t.equal((await there.get('/api/events?sort=-sequence&limit=1')).body[0].sequence, events[0].sequence + 3);
});

t.test(
  'the list of clubs has a club where it leaves, arrives or is, and not where it has moved from',
  async (t) => {
    const { id, slug } = await makeClub('listed');
    const listOf = async ({ send, token }: TestService) => {
      const authorization = `Bearer ${token({ sub: 'anna', clubs: { [id]: 'Admin' } })}`;
      const { body } = await send('GET', '/api/clubs/me', { headers: { authorization } });
      return body.map((club: { id: string }) => club.id);
    };
    const moveId = randomUUID();
    await inWest.query('select app.begin_move($1, $2, $3)', [id, moveId, 'east']);
    t.same([await listOf(west), await listOf(east)], [[id], []], 'it leaves');
    await resumeMove(eastward, slug);
    t.same([await listOf(west), await listOf(east)], [[], [id]], 'it has moved');
    await east.db.queryAsAdmin(`update app.clubs set move_id = $2, move_state = 'arriving' where id = $1`, [
      id,
      moveId,
    ]);
    t.same([await listOf(west), await listOf(east)], [[], [id]], 'it arrives');
    await inEast.query('select app.open_club($1, $2)', [id, moveId]);
  },
);

t.test(
  'a function for operators refuses a club that moves; one that moved is removed after a day',
  async (t) => {
    const { id, slug } = await makeClub('left');
    const moveId = randomUUID();
    await inWest.query('select app.begin_move($1, $2, $3)', [id, moveId, 'east']);
    const functions = await west.db.queryAsAdmin<{ call: string }>(
      // STRICT functions do nothing without a value.
      `select format('app.%s($1%s)', proname, case when proisstrict then ', now()' else repeat(', null', pronargs - 1) end) as call from pg_proc
       where pronamespace = 'app'::regnamespace and proowner = 'club_operator'::regrole and prosecdef and proargtypes[0] = 'uuid'::regtype`,
    );
    t.ok(functions.length > 8);
    for (const { call } of functions) {
      await t.rejects(inWest.query(`select ${call}`, [id]), { code: '55006' }, call);
    }
    for (const name of ['end_move', 'open_club', 'abort_move']) {
      await t.rejects(
        inWest.query(`select app.${name}($1, $2)`, [id, randomUUID()]),
        { code: 'CL005' },
        name,
      );
    }
    await t.rejects(inWest.query('select app.open_club($1, $2)', [id, moveId]), { code: 'CL005' });
    await resumeMove(eastward, slug);
    await t.rejects(inWest.query('select app.abort_move($1, $2)', [id, moveId]), { code: 'CL005' });
    await t.rejects(inWest.query('select app.forget_club($1)', [id]), { code: 'CL006' });
    for (const after of ['1 hour', null]) {
      await t.rejects(inWest.query(`select app.forget_club($1, $2)`, [id, after]), { code: 'CL006' });
    }
    await west.db.queryAsAdmin(`update app.clubs set moved_at = moved_at - interval '1 day' where id = $1`, [
      id,
    ]);
    await inWest.query('select app.forget_club($1)', [id]);
    t.same(await west.db.queryAsAdmin('select from app.members where tenant_id = $1', [id]), []);
    t.equal((await east.as('anna', 'Admin', id).get('/api/tasks')).status, 200);
  },
);

t.test(
  'a club can move back at once: the move removes the rows that the first database has kept',
  async (t) => {
    const { id, slug } = await makeClub('returning');
    await move(eastward, slug);
    const there = east.as('anna', 'Admin', id);
    await there.post('/api/tasks', { title: 'From the east' });
    const plan = await planMove(westward, slug);
    t.equal(plan.replaces, true);
    t.match(
      (await states(inWest)).find((club) => club.slug === slug),
      { state: 'moved' },
      'a plan removes nothing',
    );
    await move(westward, slug);
    t.same(await served(id), [true, false]);
    const { body } = await west.as('anna', 'Admin', id).get('/api/tasks');
    t.same(body.map(({ title }: { title: string }) => title).sort(), ['Before', 'From the east']);

    await inWest.query('select app.close_club($1)', [id]);
    await t.rejects(moveClub(westward, plan), { name: 'ClubMoveRefused' });
    const tasks = await west.db.queryAsAdmin('select from app.tasks where tenant_id = $1', [id]);
    t.equal(tasks.length, 2, 'a plan from before another move removes no club');
    await inWest.query('select app.reopen_club($1)', [id]);

    await move(eastward, slug);
    t.same(await served(id), [false, true]);
    await inEast.query(`select app.begin_move($1, $2, 'north')`, [id, randomUUID()]);
    await t.rejects(resumeMove(eastward, slug), {
      message: `The club ${slug} had moved to east already. There it moves to north.`,
    });
    await inEast.query('select app.abort_move(id, move_id) from app.list_moves() where id = $1', [id]);
  },
);

/**
 * Waits until a move waits for the transactions that are running, for a lock, or has ended.
 *
 * @returns whether it waits for transactions: then its session reads them for a third time
 */
async function waitsForTransactions(moving: Promise<unknown>): Promise<boolean> {
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
  };
  moving.then(end, end);
  const readAt = new Set<string>();
  let isBlocked = false;
  await until(
    async () => {
      const sessions = await west.db.queryAsAdmin<{ start: string; blocked: boolean; reads: boolean }>(
        `select query_start::text as start, wait_event_type is not distinct from 'Lock' as blocked, query like '%virtualxid%' as reads
         from pg_stat_activity where datname = current_database() and usename like 'club\\_migrator%'`,
      );
      for (const { start } of sessions.filter(({ reads }) => reads)) {
        readAt.add(start);
      }
      isBlocked = sessions.some(({ blocked }) => blocked);
    },
    () => readAt.size > 2 || isBlocked || hasEnded,
    { everyMs: 1 },
  );
  return readAt.size > 2;
}

t.test('what began before the club left is in the copy, and what begins later is refused', async (t) => {
  const { id, slug } = await makeClub('writing');
  const session = await connectAsRuntime(t, west.db);
  const caller = { clubId: id, subject: 'anna', role: 'Admin' } as const;
  await session.begin(caller);
  await session.client.query(`insert into app.tasks (title) values ('Under way')`);
  const moving = move(eastward, slug);
  t.ok(await waitsForTransactions(moving), 'the move waits for the transaction');
  t.match(await west.as('anna', 'Admin', id).post('/api/tasks', { title: 'Later' }), MOVING);
  const other = await west.db.makeClub('beside-writing');
  t.equal((await west.as('anna', 'Admin', other).get('/api/tasks')).status, 200, 'no other club waits');
  for (const operator of [inWest, inEast]) {
    await t.rejects(lockDeploys(operator, 0), { message: /holds the lock of deploys/ }, 'no deploy begins');
  }
  await session.client.query('commit');
  await moving;
  const { body } = await east.as('anna', 'Admin', id).get('/api/tasks');
  t.same(body.map(({ title }: { title: string }) => title).sort(), ['Before', 'Under way']);
});

t.test('a move gives up on a transaction that does not end, and the club is served again', async (t) => {
  const { id, slug } = await makeClub('stuck');
  const session = await connectAsRuntime(t, west.db);
  await session.begin({ clubId: id, subject: 'anna', role: 'Admin' });
  const moving = move(eastward, slug);
  t.ok(await waitsForTransactions(moving));
  const now = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => now() + 20_000 });
  await t.rejects(moving, {
    name: 'ClubMoveRefused',
    message: /^A transaction of the service does not end \(pid \d+\)\./,
  });
  t.same(await served(id), [true, false]);
  await session.client.query('rollback');
});

/** Whether each database serves a club. */
async function served(id: string): Promise<[boolean, boolean]> {
  const statement = 'select from app.clubs where id = $1 and closed_at is null and move_state is null';
  const [here, there] = await Promise.all([west, east].map(({ db }) => db.queryAsAdmin(statement, [id])));
  return [here?.length === 1, there?.length === 1];
}

t.test(
  'a move that is cut at any commit is resumed or aborted, and one database at most serves the club',
  async (t) => {
    const proxies = [await startProxy(t, west.db.migrationUrl), await startProxy(t, east.db.migrationUrl)];
    const [source, target] = proxies.map(({ url }) => ({ migrationUrl: url })) as [
      { migrationUrl: string },
      { migrationUrl: string },
    ];
    const cut = between(source, target);
    /** Moves a new club, and does this to its commit of this number; returns the number of commits. */
    const interrupt = async (slug: string, place: number, action: Action) => {
      const id = await west.db.makeClub(slug);
      const plan = await planMove(eastward, slug);
      let commits = 0;
      for (const proxy of proxies) {
        proxy.onMessage = ({ from, type, text }) =>
          from === 'client' && type === 'Q' && text.startsWith('commit') && ++commits === place
            ? action
            : 'pass';
      }
      const failure = await moveClub(cut, plan).then(
        () => undefined,
        (error) => error,
      );
      return { id, commits, failure };
    };
    const { commits: total } = await interrupt('whole', 0, 'pass');
    t.ok(total >= 4);
    for (let place = 1; place <= total; place += 1) {
      // Before a commit both databases are as after the one before, so each state is resumed and aborted.
      for (const [action, recovery] of [
        ['cut before', 'abort'],
        ['cut after', 'resume'],
      ] as const) {
        const what = `commit ${place}, ${action}, ${recovery}`;
        const slug = what.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
        const { id, failure } = await interrupt(slug, place, action);
        t.ok(failure instanceof OperatorError, `${what}: ${failure}`);
        t.not(String(await served(id)), 'true,true', what);
        const recovered = await (recovery === 'resume'
          ? resumeMove(eastward, slug)
          : abortMove(eastward, slug)
        ).then(
          () => true,
          (error) => error instanceof ClubMoveRefused || t.fail(`${what}: ${error}`),
        );
        t.ok(recovered);
        const at = String(await served(id));
        if (at === 'false,false') {
          // Either it has moved, so that it cannot be aborted, or the failed command had aborted it.
          await resumeMove(eastward, slug);
        }
        t.match(String(await served(id)), /^(true,false|false,true)$/, what);
        const [here] = await served(id);
        if (here) {
          // What a failed abort left behind there goes with the next.
          await abortMove(eastward, slug).catch((error) => t.type(error, ClubMoveRefused));
          await move(eastward, slug);
        }
        t.same(await served(id), [false, true], `${what}: it can move`);
      }
    }
  },
);

t.test('a move is refused where it cannot end, and nothing changes', async (t) => {
  const { id, slug } = await makeClub('refused');
  const taken = await east.db.makeClub('taken');
  await inEast.query('select app.rename_club($1, $2, $3)', [taken, 'Taken', slug]);
  await t.rejects(planMove(eastward, slug), {
    message: `east has another club with the slug ${slug}. Change one with app.rename_club.`,
  });
  await inEast.query('select app.rename_club($1, $2, $3)', [taken, 'Taken', 'taken']);
  const [release] = await east.db.queryAsAdmin('select * from deploy.releases');
  await east.db.queryAsAdmin(`update deploy.releases set fingerprint = repeat('f', 64)`);
  await t.rejects(planMove(eastward, slug), { message: /^east has another release\./ });
  await east.db.queryAsAdmin('update deploy.releases set fingerprint = $1', [release?.fingerprint]);
  await t.rejects(planMove(eastward, 'none'), {
    message: /There is no club with the id or slug none/,
  });
  await t.rejects(resumeMove(eastward, slug), {
    message: `The club ${slug} does not move from this database.`,
  });
  t.match(await planMove(eastward, slug), { club: { id }, replaces: false });
  t.same(await served(id), [true, false]);

  await inEast.query(`select app.provision_club('Copy', 'copy', 'UTC', $1)`, [id]);
  await t.rejects(planMove(eastward, slug), {
    message: `east has the club ${slug} already. If it is a copy, close it there and remove it with app.forget_club.`,
  });
  await inEast.query(`select app.begin_move($1, $2, 'other')`, [id, randomUUID()]);
  await t.rejects(planMove(eastward, slug), {
    message: `east has the club ${slug} already: there it moves to other. Resume or abort this move first.`,
  });
  await inEast.query('select app.abort_move(id, move_id) from app.list_moves() where id = $1', [id]);
  await inEast.query('select app.close_club($1)', [id]);
  await inEast.query('select app.forget_club($1)', [id]);
  t.same(await served(id), [true, false]);
});

/** Makes a club arrive that has no rows yet. */
async function beginArrival({ db }: TestService, operator: pg.Client, id: string, moveId: string) {
  await operator.query(`select app.provision_club('Arriving', $2, 'UTC', $1)`, [id, `arriving-${moveId}`]);
  await db.queryAsAdmin(`update app.clubs set move_id = $2, move_state = 'arriving' where id = $1`, [
    id,
    moveId,
  ]);
}

t.test('an abort gives the club back even if the other database cannot be used', async (t) => {
  const { id, slug } = await makeClub('unreachable');
  const moveId = randomUUID();
  await inWest.query('select app.begin_move($1, $2, $3)', [id, moveId, 'east']);
  await beginArrival(east, inEast, id, moveId);
  const gone = new URL(east.db.migrationUrl);
  gone.port = String(await freePort());
  const away = between(west.db, { migrationUrl: gone.href });
  await t.rejects(resumeMove(away, slug), { name: 'ConnectionFailed' });
  const isRefused = () =>
    t.rejects(abortMove(away, slug), {
      name: 'ClubMoveRefused',
      message:
        /^The first database serves the club\. east may have a copy: repeat --abort when it can be used\. /,
    });
  await isRefused();
  t.same(await served(id), [true, false]);
  await isRefused();
  await abortMove(eastward, slug);
  t.same(await east.db.queryAsAdmin('select from app.clubs where id = $1', [id]), [], 'the copy is removed');
});

t.test(
  'one database is not taken for two, and a club that has moved is not restored where it was',
  async (t) => {
    const { id, slug } = await makeClub('stale');
    const same = between(west.db, west.db);
    for (const command of [
      () => planMove(same, slug),
      () => resumeMove(same, slug),
      () => abortMove(same, slug),
      () => reconcileClubs(same, false),
    ]) {
      await t.rejects(async () => void (await command()), { message: /lead to the same database/ });
    }
    const file = join(await emptyFolder(t), 'stale.club');
    await exportClub(eastward.source, slug, { file });
    await move(eastward, slug);
    await west.db.queryAsAdmin(`update app.clubs set moved_at = moved_at - interval '1 day' where id = $1`, [
      id,
    ]);
    for (const replaces of [false, true]) {
      await t.rejects(importClub(eastward.source, file, { replaces }), {
        message:
          'The club has moved to east. Restore it there, or remove it here with app.forget_club first.',
      });
    }
    t.same(await served(id), [false, true]);
  },
);

t.test('a restored database serves no club that another one serves', async (t) => {
  const [moved, copied] = [await makeClub('restored'), await makeClub('copied')];
  for (const { slug } of [moved, copied]) {
    await move(eastward, slug);
  }
  await inEast.query('select app.close_club($1)', [copied.id]);
  // As if the west had been restored from a backup of before the moves.
  await west.db.queryAsAdmin(
    `update app.clubs set move_id = null, move_state = null, move_target = null, moved_at = null
     where slug in ('restored', 'copied')`,
  );
  t.same(await served(moved.id), [true, true]);
  // A copy that had begun to arrive when the backup was made.
  const half = await east.db.makeClub('half');
  await beginArrival(west, inWest, half, randomUUID());
  const reconcile = async (databases: MoveDatabases, isDry: boolean) =>
    Object.entries(await reconcileClubs(databases, isDry)).map(([name, clubs]) =>
      [name, ...clubs.map(({ id }: { id: string }) => id)].join(' '),
    );
  const found = [`marked ${moved.id}`, `removed ${half}`, `closed ${copied.id}`];
  t.same(await reconcile(eastward, true), found);
  t.same(await served(moved.id), [true, true], 'a dry run marks none');
  t.same((await states(inWest)).filter(({ state }) => state === 'arriving').length, 1, 'and removes none');
  t.same(await reconcile(eastward, false), found);
  t.same(await served(moved.id), [false, true]);
  t.same(await west.db.queryAsAdmin('select from app.clubs where id = $1', [half]), []);
  t.same(await reconcile(eastward, false), ['marked', 'removed', `closed ${copied.id}`], 'nothing is left');
  t.same(
    await reconcile(westward, false),
    [`marked ${copied.id}`, 'removed', 'closed'],
    'of the other one only what this one serves',
  );
});

t.test('no command continues where one of the databases has lost a commit', async (t) => {
  const { id, slug } = await makeClub('lost-commit');
  await move(eastward, slug);
  // The source lost the commit by which the club has moved.
  await west.db.queryAsAdmin(`update app.clubs set move_state = 'leaving', moved_at = null where id = $1`, [
    id,
  ]);
  for (const command of [() => resumeMove(eastward, slug), () => abortMove(eastward, slug)]) {
    await t.rejects(async () => void (await command()), {
      message: /moves to east, but in east it is in no move\. One of the databases/,
    });
  }
  t.same(await served(id), [false, true]);
  t.same(
    (await reconcileClubs(eastward, false)).marked.map((club) => club.slug),
    [slug],
  );
  t.match(await resumeMove(eastward, slug), { wasMoved: true });

  // The target lost the club.
  await inEast.query('select app.close_club($1)', [id]);
  await inEast.query('select app.forget_club($1)', [id]);
  for (const command of [() => resumeMove(eastward, slug), () => abortMove(eastward, slug)]) {
    await t.rejects(async () => void (await command()), {
      name: 'ClubMoveRefused',
      message: /has moved to east/,
    });
  }
  t.same(await served(id), [false, false]);
});

t.test('an abort ends the move that it has found, and no later one', async (t) => {
  const { id, slug } = await makeClub('aborted');
  const [first, second] = [randomUUID(), randomUUID()];
  await inWest.query('select app.begin_move($1, $2, $3)', [id, first, 'east']);
  await t.rejects(abortMove({ ...eastward, targetName: 'other' }, slug), {
    message: /moves to east, not to other/,
  });
  await abortMove(eastward, slug);
  t.same(await served(id), [true, false]);
  await t.rejects(abortMove(eastward, slug), { message: `The club ${slug} is in no move.` });
  await inWest.query('select app.begin_move($1, $2, $3)', [id, second, 'east']);
  for (const name of ['end_move', 'abort_move']) {
    await t.rejects(inWest.query(`select app.${name}($1, $2)`, [id, first]), { code: 'CL005' });
  }
  await resumeMove(eastward, slug);
  t.same(await served(id), [false, true]);
});

t.test('a request whose snapshot is older than the move is waited for', async (t) => {
  const { id, slug, anna, shiftId } = await makeClub('snapshot');
  const { body: shift } = await anna.get(`/api/shifts/${shiftId}`);
  const admin = new pg.Client(west.db.adminUrl);
  await admin.connect();
  t.teardown(() => admin.end());
  await admin.query('begin; lock table app.members in access exclusive mode');
  const put = anna.put(`/api/shifts/${shiftId}`, {
    ...shiftRequest({ startsAt: shift.startsAt, endsAt: shift.endsAt }),
    title: 'Changed',
    version: shift.version,
  });
  await untilWaitingForLocks(west.db, 1);
  // A plan would wait for the lock.
  const plan = { club: { id, slug, name: slug, closedAt: null }, replaces: false };
  const moving = moveClub(eastward, plan);
  t.ok(await waitsForTransactions(moving));
  await admin.query('commit');
  t.equal((await put).status, 200);
  await moving;
  t.match(await east.as('anna', 'Admin', id).get(`/api/shifts/${shiftId}`), { body: { title: 'Changed' } });
});
