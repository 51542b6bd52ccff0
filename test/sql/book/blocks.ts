/** The blocks of the DBA's book: the commands to run, and their expected output. */
import { readFileSync } from 'node:fs';
import { sqlDirectory } from '../../../src/deploy/release.js';

export const PAGES = ['README.md', 'audit/README.md'];

export interface Block {
  /** Its place: the page and its first line. */
  place: string;
  language: string;
  /** The role that runs it, or its file of sql/, from the comment in its first line. */
  heading: string;
  text: string;
  /** The expected output; undefined when the book shows none. */
  printed: string;
}

export function readPage(page: string): string {
  return readFileSync(new URL(page, sqlDirectory), 'utf8');
}

/** The blocks of a page, in order. A block of text is the output of the block before it. */
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

/** Whether the output matches the book: … matches anything, and white space and empty lines are ignored. */
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
