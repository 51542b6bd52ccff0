import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { root } from '../../setup/source.js';
import type { Habits } from '../campaign.js';
import type { Charge } from '../checker/verdict.js';
import type { Aim } from './aims.js';

/** Something that is wrong with the service on purpose, and what gives it away. */
export interface Defect {
  name: string;
  charge: Charge;
  aim: Aim;
  habits: Habits;
  /** What is done to the database under test. */
  sql?: string;
  /** What is done to a copy of the program: in this file, this text becomes that one. */
  patches?: [file: string, from: string, to: string][];
}

/** SQL that puts another text in the place of one in a function, which keeps its owner and its rights. */
export function rewrite(signature: string, ...texts: [from: string, to: string][]): string {
  const body = texts.map(
    ([from, to]) => `
    if position(${quote(from)} in text) = 0 then
      raise exception '% has another text', ${quote(signature)};
    end if;
    text := replace(text, ${quote(from)}, ${quote(to)});`,
  );
  return `do $do$
  declare
    text text := pg_get_functiondef(${quote(signature)}::regprocedure);
  begin ${body.join('')}
    execute text;
  end $do$;`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const copies = join(root, '.tap/chaos');

/** Copies the program, defect included, and answers with the file to run. The source itself knows no defect. */
export async function copyProgram(number: number, patches: Defect['patches'] = []): Promise<string> {
  const directory = join(copies, String(number));
  await rm(directory, { recursive: true, force: true });
  await mkdir(copies, { recursive: true });
  // The program reads its release two folders up.
  await symlink(join(root, 'sql'), join(copies, 'sql')).catch(() => {});
  await cp(join(root, 'dist'), directory, {
    recursive: true,
    filter: (path) => !/\/dist\/development|\.map$|tsbuildinfo$/.test(path),
  });
  for (const [file, from, to] of patches) {
    const path = join(directory, file);
    const text = await readFile(path, 'utf8');
    if (text.split(from).length !== 2) {
      throw new Error(`${file} does not have the text once: ${from}`);
    }
    await writeFile(
      path,
      text.replace(from, () => to),
    );
  }
  return relative(root, join(directory, 'server.js'));
}
