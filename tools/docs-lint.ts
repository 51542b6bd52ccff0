import { access, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Names with one spelling, and how they are often misspelled. */
const SPELLINGS: [right: string, wrong: RegExp][] = [
  ['PostgreSQL', /\b(?:Postgresql|PostGreSQL|Postgres(?!\.js|QL|\b[-_/]))\b/g],
  ['Node.js', /\b(?:NodeJS|Nodejs|Node\.JS)\b/g],
  ['TypeScript', /\b(?:Typescript|typescript(?=[ .,]))\b/g],
  ['JavaScript', /\bJavascript\b/g],
  ['GitHub', /\bGithub\b/g],
  ['PgBouncer', /\b(?:PGBouncer|Pgbouncer)\b/g],
  ['OpenAPI', /\b(?:OpenApi|Openapi)\b/g],
  ['HAProxy', /\b(?:HaProxy|Haproxy|HAproxy)\b/g],
];

export interface DocsSources {
  /** The directory of the project. */
  root: string;
  /** The pages, as paths from the root. */
  pages: string[];
}

/**
 * The errors of the pages, a line each: links that lead to no file or heading, commands of make and npm that do not
 * exist, and misspelled names of products. Code blocks are checked for commands only.
 */
export async function lintDocs({ root, pages }: DocsSources): Promise<string[]> {
  const makefile = await readFile(join(root, 'Makefile'), 'utf8');
  const targets = new Set([...makefile.matchAll(/^(\w+):/gm)].map(([, name]) => name));
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const faults: string[] = [];
  for (const page of pages) {
    const text = await readFile(join(root, page), 'utf8');
    const prose = text.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]*`/g, '``');
    const words = prose.replaceAll(/\]\([^)]*\)/g, ']').replaceAll(/https?:\S+/g, '');
    for (const [, link = ''] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (!/^(https?|mailto):/.test(link) && !(await leadsSomewhere(root, page, link))) {
        faults.push(`${page}: the link ${link} leads nowhere.`);
      }
    }
    for (const [, target = ''] of text.matchAll(/(?:`|^ {4}|^)make ([a-z]+)\b/gm)) {
      if (!targets.has(target)) {
        faults.push(`${page}: there is no command make ${target}.`);
      }
    }
    for (const [, script = ''] of text.matchAll(/\bnpm run ([\w-]+)/g)) {
      if (scripts[script] === undefined) {
        faults.push(`${page}: there is no command npm run ${script}.`);
      }
    }
    for (const [right, wrong] of SPELLINGS) {
      faults.push(...[...words.matchAll(wrong)].map(([word]) => `${page}: ${word} is spelled ${right}.`));
    }
  }
  return faults;
}

async function leadsSomewhere(root: string, page: string, link: string): Promise<boolean> {
  const [path = '', heading] = link.split('#');
  const file = join(root, path === '' ? page : join(dirname(page), path));
  try {
    await access(file);
    return heading === undefined || anchorsOf(await readFile(file, 'utf8')).includes(heading);
  } catch {
    return false;
  }
}

/** The anchors that GitHub gives the headings of a page. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .replaceAll(/\]\([^)]*\)/g, '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
