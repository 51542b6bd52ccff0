/**
 * A list that is read in pages during iteration. Each iteration starts at the `cursor` in the filter, or else at the first
 * page; nothing is sent before.
 */
export interface List<Item> extends AsyncIterable<Item> {
  /** One page, and the cursor to continue from later. */
  page(): Promise<Page<Item>>;
  /** The pages; `limit` in the filter is their maximum length. */
  pages(): AsyncGenerator<Item[], void, undefined>;
  /** All items of all pages. */
  toArray(): Promise<Item[]>;
}

/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  /** The cursor of the next page; undefined at the end. */
  next: string | undefined;
}

/** Creates a list of a function that reads the page at a cursor; the first page has none. */
export function listOf<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
  start: string | undefined,
): List<Item> {
  async function* pages() {
    let cursor = start;
    do {
      const page = await read(cursor);
      yield page.items;
      cursor = page.next;
    } while (cursor !== undefined);
  }
  async function* items() {
    for await (const page of pages()) {
      yield* page;
    }
  }
  return {
    page: async () => read(start),
    pages,
    [Symbol.asyncIterator]: items,
    toArray: async () => {
      const all: Item[] = [];
      for await (const page of pages()) {
        all.push(...page);
      }
      return all;
    },
  };
}
