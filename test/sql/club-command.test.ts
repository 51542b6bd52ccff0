import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { environmentWith } from '../../src/config.js';
import { root } from '../../tools/root.js';
import { makeDatabase } from '../setup/database.js';
import { emptyFolder } from '../setup/pages.js';

const [west, east] = [await makeDatabase(t), await makeDatabase(t)];
const club = await west.makeClub('rowing');
const directory = await emptyFolder(t);

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
    t.match(command, { code: 1, out: '', err: /^Usage:\n {2}node dist\/club\.js export CLUB FILE\n/ }, args);
  }
  t.same(await readdir(directory), []);
  t.same(await west.queryAsAdmin('select move_state from app.clubs'), [{ move_state: null }]);
});

const onEast = { MIGRATION_DATABASE_URL: east.migrationUrl, TARGET_DATABASE_URL: west.migrationUrl };

t.test(
  'each command prints what it did and what is left to do, or one sentence of what failed',
  async (t) => {
    t.match(await run('move rowing east --dry-run'), {
      code: 0,
      out: new RegExp(
        `^The club rowing \\(${club}\\) can move from \\S+ to east, \\S+: 1 rows\\. Nothing was changed\\.\\n$`,
      ),
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
    t.match(await run('route rowing east'), {
      code: 0,
      out: `Route its requests there: the line of the map is ${club} east\n`,
    });
    for (const [option, marked, removed] of [
      [' --dry-run', 'To be marked', 'To be removed'],
      ['', 'Marked', 'Removed'],
    ]) {
      t.match(await run(`reconcile west${option}`, onEast), {
        code: 0,
        out: new RegExp(
          `^In \\S+, compared with \\S+:\\n${marked} as moved to west, which serves them: none\\.\\n` +
            `${removed}, because they were not opened here: none\\.\\nNot marked, because they are closed there: none\\.\\n$`,
        ),
      });
    }
    t.match(await run('move rowing west --dry-run', onEast), {
      code: 0,
      out: /: 1 rows\. west has its rows of an earlier move, which a move removes first\. Nothing was changed\.\n$/,
    });
    await west.queryAsAdmin(`select app.forget_club($1, '0')`, [club]);
    await east.queryAsAdmin(`select app.begin_move($1, app.new_id(), 'west')`, [club]);
    t.match(await run('move rowing west --abort', onEast), {
      code: 0,
      out: 'The move was aborted. The first database has the club as before.\n',
    });
    t.match(await run('export none none.club', onEast), {
      code: 1,
      err: /^There is no club with the id or slug none in the database \S+\. .*\n$/,
    });
    t.match(await run('export rowing api.club', { MIGRATION_DATABASE_URL: west.url }), {
      code: 1,
      err: 'The login of MIGRATION_DATABASE_URL is not that of the deploy, club_migrator.\n',
    });
  },
);

t.test('a move that cannot be routed is not begun, and one that is not routed says so', async (t) => {
  const map = join(directory, 'clubs.map');
  await writeFile(map, '');
  t.match(await run('move rowing west', { ...onEast, HAPROXY_MAP: map }), {
    code: 1,
    err: /HAPROXY_MAP and HAPROXY_SOCKETS need each other/,
  });
  t.match(await run('move rowing west', { ...onEast, HAPROXY_MAP: map, HAPROXY_SOCKETS: '/none.sock' }), {
    code: 1,
    err: /^HAProxy at \/none\.sock cannot be reached: /,
  });
  t.same(await east.queryAsAdmin('select move_state from app.clubs'), [{ move_state: null }]);

  // In place of a HAProxy that has the map and refuses to change it.
  const haproxy = createServer((socket) => {
    socket.once('data', (command) =>
      socket.end(String(command).startsWith('show backend') ? 'west\neast\n' : 'found=no, not changed\n'),
    );
  });
  await once(haproxy.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => haproxy.close());
  const address = `127.0.0.1:${(haproxy.address() as AddressInfo).port}`;
  const routed = { ...onEast, HAPROXY_MAP: map, HAPROXY_SOCKETS: address };
  t.match(await run('move rowing west', routed), {
    code: 1,
    err: new RegExp(
      `^Moved the club rowing .* Its route is not changed everywhere yet: HAProxy at ${address} refuses to change ${map}: .* ` +
        `Then: node dist/club\\.js route ${club} west\\n$`,
      // A slow machine prints the progress before.
      'm',
    ),
  });
  t.same(await west.queryAsAdmin('select move_state from app.clubs'), [{ move_state: null }]);
});
