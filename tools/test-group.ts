/**
 * Runs test files one after the other in this process, which loads the service once for all of them; prints their TAP
 * with a comment before each file. What a file starts ends with the process.
 */
import { once } from 'node:events';
import t from 'tap';

for (const file of process.argv.slice(2)) {
  // A file that sets it sets it for itself.
  t.jobs = 1;
  t.comment(`file ${file}`);
  const loaded = import(new URL(`../${file.replace(/\.ts$/, '.js')}`, import.meta.url).href);
  // Its tests start when it is loaded. Without this, tap would take the pause between two files for the end.
  t.before(() => loaded);
  await loaded;
  if (!t.idle) {
    await once(t, 'idle');
  }
}
