import t from 'tap';
import { type Defect, parseDefects, plantedFiles, readDefects } from '../../tools/defect-files.js';

const parse = (text: string) => parseDefects('test/defects/source/defects.txt', text);
/** A defect with this edit, found by this file. */
const defectOf = (edit: string) => parse(`=== A title\n--- ${edit}`)[0] as Defect;
const problemOf = (defect: Defect) =>
  plantedFiles(defect).then(
    () => '',
    (error: Error) => error.message,
  );

t.test('every planted defect fits the source, and the test that finds it exists', async (t) => {
  const problems = await Promise.all((await readDefects()).map(problemOf));
  t.ok(problems.length > 0);
  t.same(problems.filter(Boolean), []);
});

t.test('an edit replaces or deletes whole lines', async (t) => {
  const defect = defectOf(
    'package.json\n  "type": "module",\n+++\n  "type": "commonjs",\n\n--- package.json\n  "license": "MIT",\n+++\n',
  );
  const { type, license, ...same } = JSON.parse((await plantedFiles(defect)).get('package.json') ?? '');
  t.equal(type, 'commonjs');
  t.equal(license, undefined);
  t.ok(same.version);
});

t.test('an edit that does not fit the source is refused with the place that its lines are at', async (t) => {
  for (const [edit, reason] of [
    ['package.json\n  },\n+++', /occur several times in package\.json, at \d+, \d+/],
    [
      'package.json\n  "private": false,\n+++',
      /no longer has .*It could be package\.json:\d+:\n {2}"private": true,/s,
    ],
    ['package.json\n-- Tasks: a five-state workflow.\n+++', /They are at sql\/policies\/50_tasks\.sql:1\./],
    ['none.json\nnone\n+++', /No other file of src or sql has them\./],
  ] as const) {
    t.match(await problemOf(defectOf(edit)), reason);
  }
  t.match(
    await problemOf({ ...defectOf('package.json\n{\n+++'), finder: 'test/none.test.ts' }),
    /there is no test\/none\.test\.ts/,
  );
});

t.test('a file of defects with another form is refused', (t) => {
  for (const [text, reason] of [
    ['', /must begin with a line “=== title”/],
    ['Title: x\n', /must begin with a line “=== title”/],
    ['=== x\n', /and then edits/],
    ['=== x\nWithout: y\n--- package.json\n{\n+++\n', /not “Without: y”/],
    ['=== x\n--- package.json\n{\n', /one line “\+\+\+”/],
    ['=== x\n--- package.json\n+++\n{\n', /must have lines of package\.json/],
  ] as const) {
    t.throws(() => parse(text), { message: reason });
  }
  t.end();
});
