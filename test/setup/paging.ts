import type { Person, Response } from './send.js';

/** The path of the next page, from the header Link. */
export function nextOf({ headers }: Response): string | undefined {
  return /^<(\/[^>]+)>; rel="next"$/.exec(String(headers.link ?? ''))?.[1];
}

/**
 * The rows of a list from this page to the last, read as a client does: by the Link header only.
 *
 * @throws Error when a page is not a 200, or links to itself
 */
export async function walk(person: Person, path: string | undefined): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (let at = path; at !== undefined; ) {
    const response = await person.get(at);
    if (response.status !== 200) {
      throw new Error(`${at}: ${response.status} ${response.text}`);
    }
    rows.push(...response.body);
    const next = nextOf(response);
    if (next === at) {
      throw new Error(`${at} links to itself.`);
    }
    at = next;
  }
  return rows;
}
