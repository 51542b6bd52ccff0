/**
 * A queue that serves tenants round robin, so a tenant with many items does not delay others. The items of one tenant are
 * served in the order of arrival.
 */
export class RoundRobinQueue<Item> {
  /** The tenants in the order of their turns; each has at least one item. */
  readonly #tenants = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of items of a tenant. */
  sizeOf(tenant: string): number {
    return this.#tenants.get(tenant)?.length ?? 0;
  }

  /** Whether a tenant with items is one of these. */
  hasTenant(isMeant: (tenant: string) => boolean): boolean {
    for (const tenant of this.#tenants.keys()) {
      if (isMeant(tenant)) {
        return true;
      }
    }
    return false;
  }

  /** Appends an item to those of its tenant. */
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
   * Offers the first item of each tenant in turn, and removes the first that is taken. That tenant then moves to the end.
   *
   * @param take returns whether it takes the item
   * @returns whether an item was taken
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

  /** Removes an item; does nothing when the item is not in the queue. */
  remove(tenant: string, item: Item): void {
    const items = this.#tenants.get(tenant) ?? [];
    const index = items.indexOf(item);
    if (index >= 0) {
      items.splice(index, 1);
      this.#size -= 1;
      if (items.length === 0) {
        this.#tenants.delete(tenant);
      }
    }
  }

  /** Removes and returns all items. */
  clear(): Item[] {
    const items = [...this.#tenants.values()].flat();
    this.#tenants.clear();
    this.#size = 0;
    return items;
  }
}
