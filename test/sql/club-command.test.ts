import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { environmentWith } from '../../src/config.js';
import { root } from '../../tools/root.js';
import { makeDatabase } from '../setup/database.js';

const [west, east] = [await makeDatabase(t), await makeDatabase(t)];
const club = await west.makeClub('rowing');
const directory = await mkdtemp(join(tmpdir(), 'club-command-'));
t.teardown(() => rm(directory, { recursive: true, force: true }));

/** Runs node dist/club.js with these arguments. */
async function run(args: string, variables: Record<string, string> = {}) {
  const env = environmentWith({
    MIGRATION_DATABASE_URL: west.migrationUrl,
    TARGET_DATABASE_URL: east.migrationUrl,
    ...variables,
  });
  const command = spawn(process.execPath, [join(root, 'dist/club.js'), ...args.split(' ')], {
    cwd: directory,
    env,
  });
  const [out, err, [code]] = await Promise.all([
    text(command.stdout),
    text(command.stderr),
    once(command, 'close'),
  ]);
  return { out, err, code };
}

t.test('arguments that are wrong or missing get the usage, and change nothing', async (t) => {
  const wrong = [
    'export rowing',
    'import',
    'import a b',
    'import a --resume',
    'move rowing',
    'move rowing --dry-run',
    'move rowing --abort',
    'move rowing East',
    'move rowing east --resume --abort',
    'move rowing east --force',
    'reconcile',
    'reconcile --dry-run',
    'route rowing',
    'forget rowing',
  ];
  const ended = await Promise.all(wrong.map(async (args) => ({ args, ...(await run(args)) })));
  for (const { args, ...command } of ended) {
    t.match(command, { code: 1, out: '', err: /^Usage: node dist\/club\.js export CLUB FILE\n/ }, args);
  }
  t.same(await readdir(directory), []);
  t.same(await west.queryAsAdmin('select move_state from app.clubs'), [{ move_state: null }]);
});

t.test(
  'each command prints what it did and what is left to do, or one sentence of what failed',
  async (t) => {
    t.match(await run('move rowing east --dry-run'), {
      code: 0,
      out: `The club rowing (${club}) can move to east: 1 rows. Nothing was changed.\n`,
    });
    t.match(await run('move rowing east --abort'), { code: 1, err: 'The club rowing is in no move.\n' });
    t.match(await run('move rowing east'), {
      code: 0,
      out: new RegExp(
        `^Moved the club rowing .* Route its requests there: the line of the map is ${club} east\\n$`,
      ),
    });
    t.match(await run('move rowing east --resume'), { code: 0, out: /^The club had moved already\. Route/ });
    t.match(await run('move rowing east'), { code: 1, err: 'The club rowing has moved to east.\n' });
    t.match(await run('export rowing old.club'), {
      code: 0,
      out: /^Exported the club rowing .* It has moved to east: the rows are as they were then\.\n$/,
    });
    const onEast = { MIGRATION_DATABASE_URL: east.migrationUrl, TARGET_DATABASE_URL: west.migrationUrl };
    t.match(await run('reconcile west --dry-run', onEast), {
      code: 0,
      out: /^In \S+, compared with \S+:\nTo be marked as moved to west, which serves them: none\.\n/,
    });
    t.match(await run('export none none.club', onEast), {
      code: 1,
      err: /^There is no club .* none\. .*\n$/,
    });
    t.match(await run('export rowing api.club', { MIGRATION_DATABASE_URL: west.url }), {
      code: 1,
      err: 'The login of MIGRATION_DATABASE_URL is not that of the deploy, club_migrator.\n',
    });
  },
);
