import t from 'tap';
import { inClub } from '../../src/database/context.js';
import { type Statement, sql } from '../../src/database/sql.js';
import { until } from '../setup/caller.js';
import { makeWork, sqlstate } from '../setup/work.js';

const { db, database, anna, write, insert, titles, slots } = await makeWork(t);
const fails = (code: string): Statement => sql`select app.fail_with(${code})`;

await db.look(`
  create function app.fail_with(code text) returns void language plpgsql as
    $$ begin raise exception using errcode = code, message = 'on purpose'; end $$;
  grant execute on function app.fail_with(text) to club_api;
  create table app.gates (id int primary key, held int);
  insert into app.gates values (1, 0), (2, 0);
  grant select, update on app.gates to club_api;
  create function app.refuse_at_commit() returns trigger language plpgsql as
    $$ begin raise exception using errcode = substr(new.title, 8), message = 'on purpose'; end $$;
  create constraint trigger refuse_at_commit after insert on app.tasks
    deferrable initially deferred for each row when (new.title like 'commit %') execute function app.refuse_at_commit()`);
t.test('a serialization failure or a deadlock is tried twice in all; another failure once', async (t) => {
  for (const [code, attempts] of [
    ['40001', 2],
    ['40P01', 2],
    ['55P03', 1],
    ['57014', 1],
    ['23505', 1],
    ['SH004', 1],
  ] as const) {
    for (const times of [1, 9]) {
      let runs = 0;
      const run = write((tx) => tx.query(++runs > times ? sql`select` : fails(code)));
      t.equal(await run.then(() => 'kept', sqlstate), times < attempts ? 'kept' : code, `${code} × ${times}`);
      t.equal(runs, Math.min(attempts, times + 1));
    }
  }
});

t.test('two transactions that lock each other out both succeed', async (t) => {
  let met = 0;
  const meet = (first: number, second: number) =>
    write(async (tx) => {
      await tx.query(sql`update app.gates set held = held + 1 where id = ${first}`);
      met += 1;
      await until(
        () => met,
        (count) => count >= 2,
      );
      await tx.query(sql`update app.gates set held = held + 1 where id = ${second}`);
    });
  await Promise.all([meet(1, 2), meet(2, 1)]);
  t.same(await db.look('select held from app.gates order by id'), [{ held: 2 }, { held: 2 }]);
});

t.test('after a change of a table’s columns no transaction fails, on any session', async (t) => {
  for (const mode of ['read once', 'read write'] as const) {
    const read = () =>
      inClub(database, anna, mode, (tx) => tx.query(sql`select * from app.gates where id = ${1}`));
    await Promise.all(Array.from({ length: slots }, read));
    const column = mode.replace(' ', '_');
    await db.look(`alter table app.gates add column ${column} text`);
    for (const rows of await Promise.all(Array.from({ length: slots }, read))) {
      t.match(rows, [{ id: 1, [mode === 'read once' ? 'readOnce' : 'readWrite']: null }]);
    }
  }
  t.same(database.load, { lent: 0, waiting: 0 });
});

t.test(
  'a refusal at COMMIT, as of a deferred constraint, is its own error, and nothing is kept',
  async (t) => {
    for (const [code, attempts] of [
      ['23514', 1],
      ['40001', 2],
    ] as const) {
      let runs = 0;
      const run = write((tx) => {
        runs += 1;
        return tx.query(insert(`commit ${code}`));
      });
      t.equal(await run.catch(sqlstate), code);
      t.equal(runs, attempts);
    }
    t.same(await titles('commit%'), []);
    t.same(await write((tx) => tx.query(sql`select 1 as one`)), [{ one: 1 }]);
  },
);
