import t from 'tap';
import { codeBlocks, execute } from '../setup/pages.js';

const PAGE = 'docs/time-zones.md';

t.test(
  'the code of docs/time-zones.md prints what the page prints, in any zone of the machine',
  async (t) => {
    const code = (await codeBlocks(PAGE, 'js')).join('\n');
    const printed = (await codeBlocks(PAGE, 'text')).join('');
    t.ok(code.length > 0);
    for (const zone of ['UTC', 'America/New_York', 'Asia/Tokyo']) {
      const { stdout } = await execute(process.execPath, ['--input-type=module', '--eval', code], {
        env: { ...process.env, TZ: zone },
      });
      t.equal(stdout, printed, zone);
    }
  },
);
