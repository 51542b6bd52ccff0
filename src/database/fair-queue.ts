/**
 * A bounded queue in which clubs take turns: whoever brings many requests waits behind themself, not in front of
 * others. Within a group it is first come, first served.
 */
export class FairQueue<Item> {
  /** The groups in the order of their turns, none of them empty. */
  readonly #groups = new Map<string, Item[]>();
  readonly #length: number;
  #size = 0;

  /** @param length how many items are enough; without it the queue is never full */
  constructor(length = Number.POSITIVE_INFINITY) {
    this.#length = length;
  }

  get size(): number {
    return this.#size;
  }

  get isFull(): boolean {
    return this.#size >= this.#length;
  }

  /** The groups that have items. */
  get groups(): string[] {
    return [...this.#groups.keys()];
  }

  /** How many groups have items. */
  get width(): number {
    return this.#groups.size;
  }

  /** How many items a group has. */
  sizeOf(group: string): number {
    return this.#groups.get(group)?.length ?? 0;
  }

  /** Lets an item wait; whether there is room is for the caller to see. */
  push(group: string, item: Item): void {
    const own = this.#groups.get(group);
    if (own === undefined) {
      this.#groups.set(group, [item]);
    } else {
      own.push(item);
    }
    this.#size += 1;
  }

  /** Takes out of a group whoever came last, down to so many items, one at least. */
  cut(group: string, keep: number): Item[] {
    const removed = this.#groups.get(group)?.splice(Math.max(1, keep)) ?? [];
    this.#size -= removed.length;
    return removed;
  }

  /** Takes the first item of the group whose turn it is, of those that may go on; the group's next turn is its last. */
  shift(mayGo: (group: string) => boolean): Item | undefined {
    for (const [group, items] of this.#groups) {
      if (mayGo(group)) {
        const item = items.shift() as Item;
        this.#groups.delete(group);
        if (items.length > 0) {
          this.#groups.set(group, items);
        }
        this.#size -= 1;
        return item;
      }
    }
    return undefined;
  }

  /** Takes an item out of its group; nothing when it has gone already. */
  remove(group: string, item: Item): void {
    const items = this.#groups.get(group) ?? [];
    const index = items.lastIndexOf(item);
    if (index >= 0) {
      items.splice(index, 1);
      this.#size -= 1;
      if (items.length === 0) {
        this.#groups.delete(group);
      }
    }
  }

  /** Takes everything out. */
  clear(): Item[] {
    const all = [...this.#groups.values()].flat();
    this.#groups.clear();
    this.#size = 0;
    return all;
  }
}
