import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';

import pg from 'pg';
import t from 'tap';
import { exportClub } from '../../src/club-files/export.js';
import { importClub } from '../../src/club-files/import.js';
import { Progress } from '../../src/club-files/progress.js';
import { ClubMoveRefused } from '../../src/club-moves/errors.js';
import {
  abortMove,
  moveClub,
  planMove,
  type Route,
  reconcileClubs,
  resumeMove,
} from '../../src/club-moves/moves.js';
import { OperatorError } from '../../src/database/errors.js';
import type { TestDatabase } from '../setup/database.js';
import { type Action, startProxy } from '../setup/proxy.js';
import { connectAsRuntime } from '../setup/runtime.js';
import { refused } from '../setup/send.js';
import { startService, type TestService } from '../setup/service.js';
import { shiftRequest } from '../setup/shifts.js';
import { until, untilWaitingForLocks } from '../setup/wait.js';

const silent = () => new Progress(new PassThrough());
const route = (source: TestDatabase, target: TestDatabase, name = 'east'): Route => ({
  source: { url: source.migrationUrl, variable: 'MIGRATION_DATABASE_URL' },
  target: { url: target.migrationUrl, variable: 'TARGET_DATABASE_URL' },
  name,
});

const [west, east] = [await startService(t), await startService(t)];
const eastward = route(west.db, east.db);
const westward = route(east.db, west.db, 'west');

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

async function operatorOf(service: TestService): Promise<pg.Client> {
  const client = new pg.Client(service.db.migrationUrl);
  await client.connect();
  t.teardown(() => client.end());
  await client.query('set role club_owner');
  return client;
}
const [inWest, inEast] = [await operatorOf(west), await operatorOf(east)];

const states = async (operator: pg.Client) =>
  (await operator.query('select slug, state, target from app.list_moves()')).rows;
const move = async (path: Route, slug: string) => moveClub(path, await planMove(path, slug), silent());
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

t.test('the list of clubs has a club where it is or arrives, and not where it has moved from', async (t) => {
  const { id, slug } = await makeClub('listed');
  const listOf = async ({ send, token }: TestService) => {
    const authorization = `Bearer ${token({ sub: 'anna', clubs: { [id]: 'Admin' } })}`;
    return (await send('GET', '/api/clubs/me', { headers: { authorization } })).body;
  };
  const moveId = randomUUID();
  await inWest.query('select app.begin_move($1, $2, $3)', [id, moveId, 'east']);
  t.match([await listOf(west), await listOf(east)], [[{ id }], []], 'it leaves');
  await resumeMove(eastward, slug, silent());
  t.match([await listOf(west), await listOf(east)], [[], [{ id }]], 'it has moved');
});

t.test(
  'a function for operators refuses a club that moves; one that moved is removed after a day',
  async (t) => {
    const { id, slug } = await makeClub('left');
    const moveId = randomUUID();
    await inWest.query('select app.begin_move($1, $2, $3)', [id, moveId, 'east']);
    const calls = {
      begin_move: `gen_random_uuid(), 'other'`,
      rename_club: `'a', 'b'`,
      close_club: '',
      reopen_club: '',
      forget_club: '',
      erase_member: 'gen_random_uuid()',
      forget_events: 'now()',
    };
    for (const [name, values] of Object.entries(calls)) {
      const statement = `select app.${name}($1${values && `, ${values}`})`;
      await t.rejects(inWest.query(statement, [id]), { code: '55006' }, name);
    }
    for (const name of ['end_move', 'open_club', 'abort_move']) {
      await t.rejects(
        inWest.query(`select app.${name}($1, $2)`, [id, randomUUID()]),
        { code: 'CL005' },
        name,
      );
    }
    await t.rejects(inWest.query('select app.open_club($1, $2)', [id, moveId]), { code: 'CL005' });
    await resumeMove(eastward, slug, silent());
    await t.rejects(inWest.query('select app.abort_move($1, $2)', [id, moveId]), { code: 'CL005' });
    await t.rejects(inWest.query('select app.forget_club($1)', [id]), { code: 'CL006' });
    await west.db.queryAsAdmin(`update app.clubs set moved_at = moved_at - interval '1 day' where id = $1`, [
      id,
    ]);
    await inWest.query('select app.forget_club($1)', [id]);
    t.same(await west.db.queryAsAdmin('select from app.members where tenant_id = $1', [id]), []);
    t.equal((await east.as('anna', 'Admin', id).get('/api/tasks')).status, 200);
    await move(westward, slug);
    t.equal((await west.as('anna', 'Admin', id).get('/api/tasks')).status, 200, 'it can come back');
  },
);

t.test('what began before the club left is in the copy, and what begins later is refused', async (t) => {
  const { id, slug } = await makeClub('writing');
  const session = await connectAsRuntime(t, west.db);
  const caller = { clubId: id, subject: 'anna', role: 'Admin' } as const;
  await session.begin(caller);
  await session.client.query(`insert into app.tasks (title) values ('Under way')`);
  const moving = move(eastward, slug);
  const later = await until(
    () => west.as('anna', 'Admin', id).post('/api/tasks', { title: 'Later' }),
    ({ status }) => status === 503,
  );
  t.match(later, MOVING);
  t.match(
    (await states(inWest)).find((club) => club.slug === slug),
    { state: 'leaving' },
    'it waits for the transaction',
  );
  await session.client.query('commit');
  await moving;
  const { body } = await east.as('anna', 'Admin', id).get('/api/tasks');
  t.ok(body.some(({ title }: { title: string }) => title === 'Under way'));
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
    const [source, target] = proxies.map(({ url }) => url) as [string, string];
    const cut: Route = {
      source: { url: source, variable: 'MIGRATION_DATABASE_URL' },
      target: { url: target, variable: 'TARGET_DATABASE_URL' },
      name: 'east',
    };
    /** Moves a new club, and does this to its commit of this number; returns the number of commits. */
    const interrupt = async (slug: string, place: number, action: Action) => {
      const id = await west.db.makeClub(slug);
      let commits = 0;
      for (const proxy of proxies) {
        proxy.onMessage = ({ from, type, text }) =>
          from === 'client' && type === 'Q' && text.startsWith('commit') && ++commits === place
            ? action
            : 'pass';
      }
      const failure = await move(cut, slug).then(
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
          ? resumeMove(eastward, slug, silent())
          : abortMove(eastward, slug)
        ).then(
          () => true,
          (error) => error instanceof ClubMoveRefused || t.fail(`${what}: ${error}`),
        );
        t.ok(recovered);
        const at = String(await served(id));
        if (at === 'false,false') {
          // Either it has moved, so that it cannot be aborted, or the failed command had aborted it.
          await resumeMove(eastward, slug, silent());
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
  await t.rejects(resumeMove(eastward, slug, silent()), {
    message: `The club ${slug} does not move from this database.`,
  });
  t.same((await planMove(eastward, slug)).club.id, id);
  t.same(await served(id), [true, false]);
});

t.test(
  'one database is not taken for two, and a club that has moved is not restored where it was',
  async (t) => {
    const { id, slug } = await makeClub('stale');
    const same = route(west.db, west.db);
    for (const command of [
      () => planMove(same, slug),
      () => resumeMove(same, slug, silent()),
      () => abortMove(same, slug),
      () => reconcileClubs(same, false),
    ]) {
      await t.rejects(async () => void (await command()), { message: /lead to the same database/ });
    }
    const directory = await mkdtemp(join(tmpdir(), 'club-moves-'));
    t.teardown(() => rm(directory, { recursive: true, force: true }));
    const file = join(directory, 'stale.club');
    await exportClub(eastward.source, slug, file, silent());
    await move(eastward, slug);
    await west.db.queryAsAdmin(`update app.clubs set moved_at = moved_at - interval '1 day' where id = $1`, [
      id,
    ]);
    for (const replaces of [false, true]) {
      await t.rejects(importClub(eastward.source, file, silent(), { replaces }), {
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
  const found = { marked: [{ slug: 'restored' }], closed: [{ slug: 'copied' }] };
  t.match(await reconcileClubs(eastward, true), found);
  t.same(await served(moved.id), [true, true], 'a dry run marks none');
  t.match(await reconcileClubs(eastward, false), found);
  t.same(await served(moved.id), [false, true]);
  t.match(await reconcileClubs(eastward, false), { marked: [] }, 'a second time there is nothing to do');
  t.match(
    (await reconcileClubs(westward, false)).marked.map((club) => club.slug),
    ['copied'],
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
  for (const command of [() => resumeMove(eastward, slug, silent()), () => abortMove(eastward, slug)]) {
    await t.rejects(async () => void (await command()), {
      message: /moves to east, but in east it is in no move\. One of the databases/,
    });
  }
  t.same(await served(id), [false, true]);
  t.match(await reconcileClubs(eastward, false), { marked: [{ slug }] });
  t.match(await resumeMove(eastward, slug, silent()), { wasMoved: true });

  // The target lost the club.
  await inEast.query('select app.close_club($1)', [id]);
  await inEast.query('select app.forget_club($1)', [id]);
  for (const command of [() => resumeMove(eastward, slug, silent()), () => abortMove(eastward, slug)]) {
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
  await t.rejects(abortMove({ ...eastward, name: 'other' }, slug), {
    message: /moves to east, not to other/,
  });
  await abortMove(eastward, slug);
  t.same(await served(id), [true, false]);
  await t.rejects(abortMove(eastward, slug), { message: `The club ${slug} is in no move.` });
  await inWest.query('select app.begin_move($1, $2, $3)', [id, second, 'east']);
  for (const name of ['end_move', 'abort_move']) {
    await t.rejects(inWest.query(`select app.${name}($1, $2)`, [id, first]), { code: 'CL005' });
  }
  await resumeMove(eastward, slug, silent());
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
  const plan = { club: { id, slug, name: slug, closedAt: null }, rows: 0 };
  const moving = moveClub(eastward, plan, silent());
  await until(
    () => states(inWest),
    (list) => list.some((club) => club.slug === slug),
  );
  await admin.query('commit');
  t.equal((await put).status, 200);
  await moving;
  t.match(await east.as('anna', 'Admin', id).get(`/api/shifts/${shiftId}`), { body: { title: 'Changed' } });
});
