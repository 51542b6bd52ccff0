/**
 * The planted defects: each file of test/defects has those that the test of the same path must find. A defect has a title and
 * edits of the source, each with lines that occur once in a file and the lines that replace them:
 *
 *     === Members delete tasks
 *     --- sql/policies/50_tasks.sql
 *       using ((select app.role()) >= 'Admin');
 *     +++
 *       using ((select app.role()) >= 'Member');
 *
 * Empty lines around the lines of an edit do not count. Without lines after +++ the others are deleted.
 */
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './root.js';

export interface Defect {
  file: string;
  title: string;
  /** The test file that must fail. */
  finder: string;
  /** Variables for the test. */
  settings: Record<string, string>;
  /** A text that the failed test must print. */
  reports: string;
  edits: Edit[];
}

export interface Edit {
  path: string;
  lines: string[];
  replacement: string[];
}

const FOLDER = 'test/defects';
/** The folders in which lines are searched that are no longer in their file. */
const SOURCES = ['src', 'sql'];

/** Reads all defects. @throws Error when a file has another form */
export async function readDefects(): Promise<Defect[]> {
  const names = await readdir(join(root, FOLDER), { recursive: true });
  const files = names.filter((name) => name.endsWith('.txt')).map((name) => join(FOLDER, name));
  const texts = await Promise.all(
    files.sort().map(async (file) => parseDefects(file, await readFile(join(root, file), 'utf8'))),
  );
  return texts.flat();
}

/** @throws Error when the text has another form */
export function parseDefects(file: string, text: string): Defect[] {
  const finder = file.replace(FOLDER, 'test').replace(/\.txt$/, '.test.ts');
  const [before = '', ...parts] = text.split(/^=== /m);
  if (before.trim() !== '' || parts.length === 0) {
    throw new Error(`${file} must begin with a line “=== title”.`);
  }
  return parts.map((part) => {
    const [head = '', ...edits] = part.split(/^--- /m);
    const [title = '', ...more] = head.trimEnd().split('\n');
    const wrong = more.find((line) => !/^(With: \w+=|Reports: )/.test(line));
    if (wrong !== undefined || edits.length === 0) {
      throw new Error(
        `${file}: “${title}” must have lines “With: NAME=value” and “Reports: text” or none, and then edits` +
          (wrong === undefined ? '.' : `, not “${wrong}”.`),
      );
    }
    const valuesOf = (name: string) =>
      more.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length));
    return {
      file,
      title,
      finder,
      settings: Object.fromEntries(valuesOf('With: ').map((setting) => setting.split(/=(.*)/s, 2))),
      reports: valuesOf('Reports: ')[0] ?? '',
      edits: edits.map((edit) => parseEdit(`${file}: “${title}”`, edit)),
    };
  });
}

function parseEdit(defect: string, text: string): Edit {
  const [path = '', ...rest] = text.split('\n');
  const [lines = [], replacement, ...more] = rest
    .join('\n')
    .split(/^\+\+\+$/m)
    .map(linesOf);
  if (lines.length === 0 || replacement === undefined || more.length > 0) {
    throw new Error(`${defect} must have lines of ${path}, one line “+++”, and what replaces them.`);
  }
  return { path, lines, replacement };
}

/** The lines of a text, without empty ones around them. */
function linesOf(text: string): string[] {
  const lines = text.replace(/^(\s*\n)+/, '').trimEnd();
  return lines === '' ? [] : lines.split('\n');
}

/** The changed files of a defect, by their paths. @throws Error that says what to do when an edit does not fit the source */
export async function plantedFiles({ file, title, finder, edits }: Defect): Promise<Map<string, string>> {
  await access(join(root, finder)).catch(() => {
    throw new Error(
      `${file}: there is no ${finder}: move the defects to the file of the test that finds them now.`,
    );
  });
  const changed = new Map<string, string>();
  for (const edit of edits) {
    const before = changed.get(edit.path) ?? (await readFile(join(root, edit.path), 'utf8').catch(() => ''));
    const source = before.split('\n');
    const places = placesOf(edit.lines, source);
    if (places.length !== 1) {
      const where = places.length > 1 ? severalPlaces(edit, places) : await elsewhere(edit, source);
      throw new Error(`${file}: “${title}” cannot be planted. ${where}`);
    }
    source.splice(places[0] as number, edit.lines.length, ...edit.replacement);
    changed.set(edit.path, source.join('\n'));
  }
  return changed;
}

/** The indexes at which the lines begin in a source. */
function placesOf(lines: string[], source: string[]): number[] {
  return [...source.keys()].filter((at) => lines.every((line, index) => source[at + index] === line));
}

function severalPlaces({ path, lines }: Edit, places: number[]): string {
  const numbers = places.map((at) => at + 1).join(', ');
  return `These lines occur several times in ${path}, at ${numbers}; add the line before or after them:\n${lines.join('\n')}`;
}

/** Where the lines of an edit are now: in another file, or where their file has the most similar ones. */
async function elsewhere({ path, lines }: Edit, source: string[]): Promise<string> {
  const missing = `${path} no longer has these lines:\n${lines.join('\n')}\n`;
  for (const folder of SOURCES) {
    for (const name of await readdir(join(root, folder), { recursive: true })) {
      const other = join(folder, name);
      const text = await readFile(join(root, other), 'utf8').catch(() => '');
      const [at] = placesOf(lines, text.split('\n'));
      if (at !== undefined) {
        return `${missing}They are at ${other}:${at + 1}.`;
      }
    }
  }
  const textAt = (at: number) => `${path}:${at + 1}:\n${source.slice(at, at + lines.length).join('\n')}`;
  const closest = closestPlaces(lines, source).slice(0, 3);
  return closest.length === 0
    ? `${missing}No other file of ${SOURCES.join(' or ')} has them.`
    : missing + closest.map((at) => `It could be ${textAt(at)}`).join('\n');
}

/** Where a source has the most words in common with the lines; nowhere when it has none. */
function closestPlaces(lines: string[], source: string[]): number[] {
  const wordsOf = (part: string[]) => new Set(part.join('\n').match(/\w+/g));
  const wanted = wordsOf(lines);
  const likeness = source.map((_, at) => {
    const words = wordsOf(source.slice(at, at + lines.length));
    const common = [...words].filter((word) => wanted.has(word)).length;
    return common === 0 ? 0 : common / (words.size + wanted.size - common);
  });
  const best = Math.max(...likeness);
  return [...source.keys()].filter((at) => best > 0 && likeness[at] === best);
}
