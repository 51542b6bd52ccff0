import t from 'tap';
import { withClient } from '../../src/deploy/client.js';
import { findFaults, parseRules, readRules } from '../../tools/schema-lint.js';
import { makeDatabase } from '../setup/database.js';

const rules = readRules();

t.test('no rule of sql/lint.sql finds anything in a new deploy', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => t.same(await findFaults(client, rules), []));
});

t.test('each rule finds each of its statements', async (t) => {
  const db = await makeDatabase(t);
  await withClient(db.adminUrl, async (client) => {
    const { rows } = await client.query(`select current_setting('server_version_num')::int / 10000 as major`);
    for (const rule of rules) {
      for (const { statement } of rule.finds.filter(({ from }) => from <= rows[0].major)) {
        await client.query('begin');
        await client.query(statement);
        t.match(await findFaults(client, [rule]), [`${rule.name}: `], `${rule.name}: ${statement}`);
        await client.query('rollback');
      }
    }
  });
});

t.test('a rule has a name that no other rule has, a reason, and a statement that it finds', async (t) => {
  const rule = `-- empty: A reason\n-- of two lines.\n-- finds: select 1\n-- finds from 18: select 2\nselect 'a', 'b';`;
  t.same(parseRules(`-- About the file.\n\n${rule}\n`), [
    {
      name: 'empty',
      reason: 'A reason of two lines.',
      finds: [
        { statement: 'select 1', from: 0 },
        { statement: 'select 2', from: 18 },
      ],
      query: `select 'a', 'b';`,
    },
  ]);
  t.throws(() => parseRules(`${rule}\n\n${rule}`), { message: 'Two rules have the name empty.' });
  for (const text of ['-- empty: A reason.\nselect 1;', '-- finds: select 1\nselect 1;', 'select 1;']) {
    t.throws(() => parseRules(text), { message: /^A rule begins with/ }, text);
  }
});
