/** A list, read page by page while it is walked through. Nothing is asked before; each walk begins anew. */
export interface List<Item> extends AsyncIterable<Item> {
  /** Page by page, as they are answered; `limit` in the filter says how long they are. */
  pages(): AsyncGenerator<Item[], void, undefined>;
  /** All of it. */
  toArray(): Promise<Item[]>;
}

/** A page, and where the next one begins. */
export interface Page<Item> {
  items: Item[];
  next: string | undefined;
}

/** A list whose pages are read by cursor; the first has none. */
export function listOf<Item>(read: (cursor: string | undefined) => Promise<Page<Item>>): List<Item> {
  async function* pages() {
    let cursor: string | undefined;
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
