import t from 'tap';
import { makeExample } from '../setup/example.js';

t.test(
  'the example of a resource passes the checks and its tests, with ten files written by hand',
  async (t) => {
    const { files, run, test } = await makeExample(t);
    t.equal(files.length, 10);
    const sources = files.filter((path) => path.endsWith('.ts'));
    const bin = 'node_modules/.bin';
    t.notMatch(await run(`${bin}/biome`, 'check', '--error-on-warnings', ...sources), /Found \d+ error/);
    t.equal(await run(`${bin}/tsc`, '--noEmit', '--project', 'tsconfig.json'), '', 'the types');
    const output = await test('api/boats');
    t.match(output, /^\d+ passed, 0 failed$/m, output);
  },
);
