import pg from 'pg';
import t from 'tap';
import { sqlStatesOf } from '../../src/errors/catalogue.js';
import { errorTypes } from '../setup/errors.js';
import { connectAsRuntime, enter } from '../setup/runtime.js';
import { asAdmin, attempt, makeTestbed, within } from '../setup/testbed.js';
import { untilWaitingForLocks } from '../setup/wait.js';

const MISSING = '99999999-9999-4999-8999-999999999999';
const testbed = await makeTestbed(t);

t.test('a reference to a foreign club’s row fails exactly like one to a missing row', async (t) => {
  const { db, api, own, foreign } = testbed;
  const same = async (
    statement: (id: string) => string,
    foreignId: string,
    run: (sql: string) => Promise<unknown>,
  ) => {
    const [far, none] = await Promise.all(
      [foreignId, MISSING].map(async (id) => {
        const error = (await run(statement(id)).catch((failure) => failure)) as pg.DatabaseError;
        const { code, constraint, message, detail } = error;
        return { code, constraint, message, detail: detail?.replaceAll(id, 'id') };
      }),
    );
    t.ok(far?.code, statement('…'));
    t.same(far, none, statement('…'));
  };
  const asOwn = async (sql: string) => {
    const client = new pg.Client(db.url);
    await client.connect();
    return within(client, own.id, () => client.query(sql)).finally(() => client.end());
  };
  await same(
    (id) => `insert into app.tasks (title, assignee_id) values ('x', '${id}')`,
    foreign.memberId,
    asOwn,
  );
  await same((id) => `update app.tasks set assignee_id = '${id}'`, foreign.memberId, asOwn);
  await same((id) => `select app.sign_up('${id}')`, foreign.shiftId, asOwn);
  await same((id) => `select app.cancel_sign_up('${id}')`, foreign.shiftId, asOwn);
  t.same(await attempt(api, asAdmin(own.id), `select app.sign_up('${foreign.shiftId}')`), { code: 'SH001' });

  // The keys also apply to an administrator, who bypasses every policy.
  const keys = await db.queryAsAdmin<{ name: string; source: string; target: string; columns: string[] }>(`
    select conname as name, conrelid::regclass::text as source, confrelid::regclass::text as target,
      array(select attname::text from unnest(conkey) with ordinality as key (number, place)
            join pg_attribute on attrelid = conrelid and attnum = number order by place) as columns
    from pg_constraint
    where contype = 'f' and connamespace = 'app'::regnamespace
      and confrelid in (select attrelid from pg_attribute where attname = 'tenant_id' and not attisdropped)`);
  t.ok(keys.length >= 5);
  for (const { name, source, target, columns } of keys) {
    t.equal(columns[0], 'tenant_id', `${name} begins with the club`);
    const [row] = await db.queryAsAdmin<{ id: string }>(`select id from ${target} where tenant_id = $1`, [
      foreign.id,
    ]);
    const foreignId = row?.id as string;
    await db.queryAsAdmin(`alter table ${source} disable trigger user`);
    const statement = (id: string) =>
      `update ${source} set ${columns[1]} = '${id}' where tenant_id = '${own.id}'`;
    await same(statement, foreignId, (sql) => db.queryAsAdmin(sql));
    await t.rejects(db.queryAsAdmin(statement(foreignId)), { code: '23503', constraint: name });
  }
});

/** The unique indexes that no request violates, and why. */
const inviolable: Record<string, string> = {
  attendance_once: 'The service locks the shift, and changes the record that exists.',
  calendar_links_once:
    'The service deletes the link that exists, until its INSERT meets none (on conflict do nothing).',
  calendar_links_secret: 'A secret is 32 random bytes.',
  clubs_slug_key: 'Only operators write it.',
  events_by_sequence: 'app.number_events locks the numbers of the club.',
  members_external_user_key: 'app.sync_member changes the member who exists (on conflict do update).',
  shift_signups_once: 'The functions lock the shift, and look for the signup first.',
  shift_waits_once: 'The functions lock the shift, and look for the wait first.',
  task_states_position_key: 'Only migrations write the table.',
};

t.test('a violation of a unique index by a request is an error with a code', async (t) => {
  const indexes = await testbed.db.queryAsAdmin<{ name: string }>(
    `select relname::text as name from pg_index join pg_class on oid = indexrelid
     where indisunique and not indisprimary and relnamespace = 'app'::regnamespace`,
  );
  const codes = new Map(errorTypes.map(({ constraint, code }) => [constraint, code]));
  t.same(
    indexes
      .map(({ name }) => name)
      .filter((name) => !codes.has(name))
      .sort(),
    Object.keys(inviolable).sort(),
    'an index is the `constraint` of an error in errors.ts of its resource, or is listed here with the reason',
  );
});

t.test(
  'an error that a function of requests raises is an error with a code, and the other way round',
  async (t) => {
    const raised = await testbed.db.queryAsAdmin<{ state: string }>(
      // A function of requests is executed by club_api, by the owner of a SECURITY DEFINER function of requests, or by a trigger.
      `select distinct state[1] as state
     from audit.functions as raising cross join lateral regexp_matches(raising.body, 'errcode = ''([A-Z]{2}\\d{3})''', 'g') as state
     where raising.schema = 'app' and (
       raising.funcid in (select tgfoid from pg_trigger)
       or exists (
         select from audit.functions as called
         where called.schema = 'app' and has_function_privilege('club_api', called.funcid, 'execute')
           and has_function_privilege(case when called.security_definer then called.owner else 'club_api' end, raising.funcid, 'execute')
       )
     )`,
    );
    const declared = errorTypes.flatMap(sqlStatesOf);
    // A context that is not set is a bug of the service: 500.
    t.same(raised.map(({ state }) => state).sort(), [...declared, 'TN001'].sort());
  },
);

t.test(
  'the accessors of the tenant context raise when it is unset, empty or of an earlier transaction',
  async (t) => {
    const { api, own } = testbed;
    const set = (name: string, value: string) => `set local app.${name} = '${value}'`;
    for (const [name, value] of Object.entries({
      tenant_id: own.id,
      user_id: 'anna',
      role: 'Admin',
      member_id: own.memberId,
    })) {
      const read = `select app.${name}()`;
      t.same(await attempt(api, [], read), { code: 'TN001' }, `${name} is unset`);
      t.same(await attempt(api, [set(name, value)], read), { rows: 1 }, name);
      t.same(await attempt(api, [], read), { code: 'TN001' }, `${name} ended with its transaction`);
      t.same(await attempt(api, [set(name, '')], read), { code: 'TN001' }, `${name} is empty`);
    }
    t.same(await attempt(api, [], 'select * from app.my_clubs()'), { code: 'TN001' });
    t.same(
      await attempt(api, [`select app.enter_directory('{${own.id}}')`], 'select * from app.my_clubs()'),
      { rows: 1 },
    );
  },
);

t.test('a statement that enters a club sees its member, or enters without one', async (t) => {
  const { db, own } = testbed;
  const holder = new pg.Client(db.adminUrl);
  await holder.connect();
  t.teardown(() => holder.end());
  const [reader, newcomer] = [await connectAsRuntime(t, db), await connectAsRuntime(t, db)];
  const caller = { clubId: own.id, subject: 'late', role: 'Member' as const };
  // The statement takes its snapshot before it waits for the lock, and enters after the new member's commit.
  const read = () =>
    reader.client.query(
      `with gate as materialized (select pg_advisory_xact_lock_shared(1)),
         entry as materialized (select entered.* from gate, ${enter(caller)} as entered)
       select entry.member_id is not null as entered, (select count(*)::int from app.members where id = entry.member_id) as seen
       from entry`,
    );
  await holder.query('select pg_advisory_lock(1)');
  const early = read();
  t.equal(await untilWaitingForLocks(db, 1, early), 1);
  await newcomer.join(caller);
  await holder.query('select pg_advisory_unlock(1)');
  t.same((await early).rows, [{ entered: false, seen: 0 }]);
  t.same((await read()).rows, [{ entered: true, seen: 1 }]);
});
