/**
 * Runs test files one after the other in this process, which loads the service once for all of them; prints their TAP
 * with a comment before each file. What a file starts ends with the process, which ends if a file hangs.
 */
import { once } from 'node:events';
import t from 'tap';

/** TAP_TIMEOUT, in milliseconds: each file has this time. */
const { timeout = 0 } = t.options;
// What a file that hangs waits for would keep the process.
t.on('timeout', () => process.exit(1));

for (const file of process.argv.slice(2)) {
  // A file that sets them sets them for itself.
  t.jobs = 1;
  t.setTimeout(timeout);
  t.comment(`file ${file}`);
  const loaded = import(new URL(`../${file.replace(/\.ts$/, '.js')}`, import.meta.url).href);
  // Its tests start when it is loaded. Without this, tap would take the pause between two files for the end.
  t.before(() => loaded);
  await loaded;
  if (!t.idle) {
    await once(t, 'idle');
  }
}
