/** The blocks of the DBA's book: what it tells the reader to run, and what it says will be printed. */
import { readFileSync } from 'node:fs';
import { sqlDirectory } from '../../../src/deploy/release.js';

export const PAGES = ['README.md', 'audit/README.md'];

export interface Block {
  /** Where it stands: the page and its first line. */
  place: string;
  language: string;
  /** The first line, as a comment, says who runs it, or which file of sql/ it is. */
  heading: string;
  text: string;
  /** What the book says is printed; nothing, unless it says so. */
  printed: string;
}

export function readPage(page: string): string {
  return readFileSync(new URL(page, sqlDirectory), 'utf8');
}

/** The blocks of a page, in order. A block of text is what the block before it prints. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  const source = readPage(page);
  for (const { 1: language = '', 2: text = '', index } of source.matchAll(/^```(\w*)\n(.*?)^```$/gms)) {
    const line = source.slice(0, index).split('\n').length + 1;
    const last = blocks.at(-1);
    if (language !== 'text') {
      const [, heading = ''] = /^-- (?:as )?(.*)\n/.exec(text) ?? [];
      blocks.push({ place: `sql/${page}:${line}`, language, heading, text, printed: '' });
    } else if (last === undefined || last.printed !== '') {
      throw new Error(`sql/${page}:${line} prints what nothing has run`);
    } else {
      last.printed = text;
    }
  }
  return blocks;
}

/** Whether the output is what the book prints: … stands for anything, and nobody minds blanks and empty lines. */
export function isAsPrinted(printed: string, output: string): boolean {
  const [meant, found] = [printed, output].map((text) =>
    text
      .replaceAll(/[ \t]+/g, ' ')
      .replaceAll(/\s*\n\s*/g, '\n')
      .trim(),
  ) as [string, string];
  const pattern = meant
    .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll(/^…$/gm, '[^]*')
    .replaceAll('…', '[^\\n]*');
  return new RegExp(`^${pattern}$`).test(found);
}
