import type { Document } from './document.js';

const HEAD = `| Operation | Lowest role | |
|---|---|---|
`;

/**
 * Writes the table of operations of a page: the role that each needs, and its summary. The rest of the page is unchanged.
 *
 * @throws Error when the page has no such table
 */
export function withOperations(page: string, { paths, tags }: Document): string {
  const [before, table] = page.split(HEAD);
  if (before === undefined || table === undefined) {
    throw new Error('The page has no table of operations.');
  }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      ...operation,
    })),
  );
  // In the order of the document's tags, as on its page.
  const rows = tags.flatMap(({ name: tag }) =>
    operations
      .filter((operation) => operation.tags[0] === tag)
      .map(({ name, summary, description, security }) => {
        const role =
          /Needs the role (\w+)/.exec(description)?.[1] ?? (security?.length === 0 ? 'no token' : 'none');
        return `| \`${name}\` | ${role} | ${summary} |\n`;
      }),
  );
  return `${before}${HEAD}${rows.join('')}${table.replace(/^(\|.*\n)*/, '')}`;
}
