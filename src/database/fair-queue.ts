/**
 * A bounded queue in which clubs take turns: whoever brings many requests waits behind themself, not in front of
 * others. Within a group it is first come, first served.
 */
export class FairQueue<Item> {
  /** The groups in the order of their turns, none of them empty. */
  readonly #groups = new Map<string, Item[]>();
  readonly #length: number;
  #size = 0;

  /** @param length how many items wait at most */
  constructor(length: number) {
    this.#length = length;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Lets an item wait. In a full queue the longest group makes room: its last item is shed.
   *
   * @returns what was shed, possibly the item itself; undefined when there was room
   */
  push(group: string, item: Item): Item | undefined {
    const own = this.#groups.get(group);
    let shed: Item | undefined;
    if (this.#size >= this.#length) {
      const [longest, items] = this.#longest();
      if (items.length <= (own?.length ?? 0) + 1) {
        return item;
      }
      shed = items.at(-1) as Item;
      this.remove(longest, shed);
    }
    if (own === undefined) {
      this.#groups.set(group, [item]);
    } else {
      own.push(item);
    }
    this.#size += 1;
    return shed;
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

  #longest(): [group: string, items: Item[]] {
    return [...this.#groups].reduce(
      (longest, next) => (next[1].length > longest[1].length ? next : longest),
      ['', []],
    );
  }
}
