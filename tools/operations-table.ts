import type { Document } from './document.js';

const HEAD = `| Operation | Lowest role | |
|---|---|---|
`;

/**
 * Writes the table of operations of a page: the role that each needs, and its summary. The rest of the page is unchanged.
 *
 * @throws Error when the page has no such table
 */
export function withOperations(page: string, { paths }: Document): string {
  const [before, table] = page.split(HEAD);
  if (before === undefined || table === undefined) {
    throw new Error('README.md has no table of operations.');
  }
  // The health checks last.
  const ordered = Object.entries(paths).sort(
    ([one], [other]) => Number(other.startsWith('/api/')) - Number(one.startsWith('/api/')),
  );
  const rows = ordered.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { summary, description, security }]) => {
      const role =
        /Needs the role (\w+)/.exec(description)?.[1] ?? (security?.length === 0 ? 'no token' : 'none');
      return `| \`${method.toUpperCase()} ${path}\` | ${role} | ${summary} |\n`;
    }),
  );
  return `${before}${HEAD}${rows.join('')}${table.replace(/^(\|.*\n)*/, '')}`;
}
