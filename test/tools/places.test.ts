import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { startPostgres } from '../../tools/postgres.js';
import { directory, isGone, query, start } from './fixtures/postgres.js';

t.test(
  'removing the data directory resets everything, also in a checkout that only root can read',
  async (t) => {
    const closed = join(await directory(t), 'closed');
    await mkdir(closed);
    await chmod(closed, 0o700);
    const dataDir = join(closed, 'data', 'postgres');

    const first = await start(t, dataDir);
    const elsewhere = [await readFile(join(dataDir, 'location'), 'utf8').catch(() => '')];
    await query(first.url('postgres'), 'CREATE TABLE kept AS SELECT 42 AS answer');
    await first.stop();
    const again = await start(t, dataDir);
    t.same(await query(again.url('postgres'), 'SELECT answer FROM kept'), [42], 'a restart keeps it');
    await again.stop();

    await rm(join(closed, 'data'), { recursive: true });
    const anew = await start(t, dataDir);
    t.same(await query(anew.url('postgres'), `SELECT to_regclass('kept') AS kept`), [null]);
    await anew.stop();
    elsewhere.push(await readFile(join(dataDir, 'location'), 'utf8').catch(() => ''));
    for (const home of elsewhere.filter((path) => path !== '')) {
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
