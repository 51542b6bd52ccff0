/**
 * A queue in which tenants take turns: a tenant with many items waits behind itself, not in front of others. Within a
 * tenant it is first come, first served.
 */
export class RoundRobinQueue<Item> {
  /** The tenants in the order of their turns, none of them without items. */
  readonly #tenants = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many items of a tenant wait. */
  sizeOf(tenant: string): number {
    return this.#tenants.get(tenant)?.length ?? 0;
  }

  /** Appends an item behind those of its tenant. */
  push(tenant: string, item: Item): void {
    const items = this.#tenants.get(tenant);
    if (items === undefined) {
      this.#tenants.set(tenant, [item]);
    } else {
      items.push(item);
    }
    this.#size += 1;
  }

  /**
   * Removes the first item of the next tenant whose first item is taken; that tenant's next turn is the last one.
   *
   * @param take whether the item is taken
   * @returns whether there was one
   */
  shift(take: (item: Item, tenant: string) => boolean): boolean {
    for (const [tenant, items] of this.#tenants) {
      if (take(items[0] as Item, tenant)) {
        items.shift();
        this.#size -= 1;
        this.#tenants.delete(tenant);
        if (items.length > 0) {
          this.#tenants.set(tenant, items);
        }
        return true;
      }
    }
    return false;
  }

  /** Removes an item; nothing happens when it is gone already. */
  remove(tenant: string, item: Item): void {
    const items = this.#tenants.get(tenant) ?? [];
    const index = items.lastIndexOf(item);
    if (index >= 0) {
      items.splice(index, 1);
      this.#size -= 1;
      if (items.length === 0) {
        this.#tenants.delete(tenant);
      }
    }
  }

  /** Removes all items. */
  clear(): Item[] {
    const items = [...this.#tenants.values()].flat();
    this.#tenants.clear();
    this.#size = 0;
    return items;
  }
}
