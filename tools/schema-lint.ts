import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { root } from './root.js';

/** A rule of sql/lint.sql. */
export interface Rule {
  name: string;
  reason: string;
  /** Statements that the rule finds, each with the first major version of PostgreSQL that has it. */
  finds: { statement: string; from: number }[];
  /** Returns the object and the detail of each fault. */
  query: string;
}

/** Reads the rules of sql/lint.sql. */
export function readRules(): Rule[] {
  return parseRules(readFileSync(join(root, 'sql/lint.sql'), 'utf8'));
}

/**
 * Parses rules: paragraphs that have a query. A paragraph of comments alone is for readers.
 *
 * @throws Error when a rule has no name, no reason or no statement, or two rules have the same name
 */
export function parseRules(text: string): Rule[] {
  const paragraphs = text.trim().split(/\n{2,}/);
  const rules = paragraphs.filter((paragraph) => /^(?!--)/m.test(paragraph)).map(parseRule);
  const names = rules.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) {
    throw new Error(`Two rules have the name ${twice}.`);
  }
  return rules;
}

function parseRule(paragraph: string): Rule {
  const lines = paragraph.split('\n');
  const comments = lines.filter((line) => line.startsWith('-- ')).map((line) => line.slice('-- '.length));
  const found = comments.map((line) => /^finds(?: from (\d+))?: (.+)/.exec(line));
  const finds = found.flatMap((match) =>
    match === null ? [] : [{ statement: match[2] as string, from: Number(match[1] ?? 0) }],
  );
  const [, name, reason] =
    /^(\w+): (.+)/.exec(comments.filter((_, at) => found[at] === null).join(' ')) ?? [];
  const query = lines.filter((line) => !line.startsWith('-- ')).join('\n');
  if (name === undefined || reason === undefined || finds.length === 0) {
    throw new Error(
      `A rule begins with “-- name: reason” and at least one line “-- finds: statement”:\n${paragraph}`,
    );
  }
  return { name, reason, finds, query };
}

/** What the rules find in a database, a text for each rule that finds something. */
export async function findFaults(client: pg.Client, rules: Rule[]): Promise<string[]> {
  const found: string[] = [];
  for (const { name, reason, query } of rules) {
    const { rows } = await client.query<[object: string, detail: string]>({ text: query, rowMode: 'array' });
    if (rows.length > 0) {
      found.push(
        [`${name}: ${reason}`, ...rows.map(([object, detail]) => `  ${object}: ${detail}`)].join('\n'),
      );
    }
  }
  return found;
}
