import { readFile } from 'node:fs/promises';
import ts from 'typescript';
import { root } from '../../tools/root.js';

/** A regular expression, and its place in the source. */
export interface Pattern {
  path: string;
  source: string;
  flags: string;
}

/** String methods that convert a text argument to a regular expression. */
const COMPILING = ['match', 'matchAll', 'search'];

/**
 * Every regular expression of a module: literals, `RegExp`, and what a JSON schema calls `pattern`.
 *
 * @returns also those that are not literals, which cannot be checked
 */
export function patternsOf(path: string, text: string): { patterns: Pattern[]; unreadable: string[] } {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const patterns: Pattern[] = [];
  const unreadable: string[] = [];
  const take = (node: ts.Expression | undefined, flags = '') => {
    if (node !== undefined && ts.isStringLiteralLike(node)) {
      patterns.push({ path, source: node.text, flags });
    } else {
      unreadable.push(`${path}: ${node?.getText(source)}`);
    }
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      patterns.push({ path, source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
    } else if (ts.isPropertyAssignment(node) && node.name.getText(source) === 'pattern') {
      // Ajv compiles patterns as Unicode.
      take(node.initializer, 'u');
    } else if (ts.isPropertyAssignment(node) && node.name.getText(source) === 'patternProperties') {
      unreadable.push(`${path}: ${node.getText(source)}`);
    } else if (ts.isNewExpression(node) || ts.isCallExpression(node)) {
      const [first, second] = node.arguments ?? [];
      if (node.expression.getText(source) === 'RegExp') {
        take(first, second !== undefined && ts.isStringLiteralLike(second) ? second.text : '');
      } else if (
        ts.isPropertyAccessExpression(node.expression) &&
        COMPILING.includes(node.expression.name.text) &&
        first !== undefined &&
        !ts.isRegularExpressionLiteral(first)
      ) {
        take(first);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { patterns, unreadable };
}

/**
 * The regular expressions in SQL: beside the operators, and in the functions whose names begin with regexp.
 *
 * @returns the patterns for PostgreSQL, and for JavaScript, whose word boundaries have no direction
 */
export async function patternsInSql(path: string): Promise<(Pattern & { written: string })[]> {
  const text = (await readFile(`${root}${path}`, 'utf8'))
    .replaceAll(/--(?!\[).*/g, '')
    .replaceAll(/'\s*\|\|\s*'/g, '');
  const operands = text.matchAll(/!?~\*?\s*'((?:[^']|'')*)'/g);
  const arguments_ = text.matchAll(/\bregexp_\w+\([^;]*?,\s*'((?:[^']|'')*)'/g);
  return [...operands, ...arguments_].map(([, pattern = '']) => {
    const written = pattern.replaceAll("''", "'");
    const source = written.replaceAll('\\m', '\\b(?=\\w)').replaceAll('\\M', '\\b(?<=\\w)');
    return { path, source, written, flags: '' };
  });
}
