import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { startPostgres } from '../../tools/postgres.js';
import { directory, isGone, query, start } from './fixtures/postgres.js';

t.test(
  'removing the data directory resets everything, even in a checkout that only root can read',
  async (t) => {
    const closed = join(await directory(t), 'closed');
    await mkdir(closed);
    await chmod(closed, 0o700);
    const dataDir = join(closed, 'data', 'postgres');

    const serve = async () => {
      const server = await start(t, dataDir);
      const before = await query(server.url('postgres'), `SELECT to_regclass('kept') IS NOT NULL AS is_kept`);
      await query(server.url('postgres'), 'CREATE TABLE IF NOT EXISTS kept (answer int)');
      await server.stop();
      // Root's data is elsewhere, for the account that runs the server.
      return { before, home: await readFile(join(dataDir, 'location'), 'utf8').catch(() => '') };
    };
    const first = await serve();
    t.same(first.before, [false]);
    const isElsewhere = first.home !== '';
    if (isElsewhere) {
      await rm(first.home, { recursive: true });
    }
    const second = await serve();
    t.same(second.before, [!isElsewhere], 'also when a system has removed old files of /var/tmp');
    await rm(join(closed, 'data'), { recursive: true });
    const third = await serve();
    t.same(third.before, [false]);
    for (const { home } of [second, third].filter(({ home }) => home !== '')) {
      await rm(home, { recursive: true });
    }
  },
);

t.test('programs are found at their configured place, or not at all', async (t) => {
  const dataDir = await directory(t);
  await t.rejects(startPostgres({ dataDir, throwaway: true, bin: '/nowhere' }), {
    message: /^Cannot run \/nowhere\/initdb: ENOENT/,
  });
  t.equal(await isGone(dataDir), true);
});
