/** The items of a tenant by their groups, in the order of their turns; each group has at least one item. */
interface Waiting<Item> {
  size: number;
  readonly groups: Map<string, Item[]>;
}

/**
 * A queue that serves tenants round robin, so a tenant with many items does not delay others. The items of one tenant are
 * served in the order of arrival, or, if they are of several groups, round robin by group.
 */
export class RoundRobinQueue<Item> {
  /** The tenants in the order of their turns; each has at least one item. */
  readonly #tenants = new Map<string, Waiting<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number of items of a tenant. */
  sizeOf(tenant: string): number {
    return this.#tenants.get(tenant)?.size ?? 0;
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

  /** Appends an item to those of its tenant and group. */
  push(tenant: string, item: Item, group = ''): void {
    const waiting = this.#tenants.get(tenant) ?? { size: 0, groups: new Map<string, Item[]>() };
    const items = waiting.groups.get(group) ?? [];
    items.push(item);
    waiting.groups.set(group, items);
    waiting.size += 1;
    this.#tenants.set(tenant, waiting);
    this.#size += 1;
  }

  /**
   * Offers the first item of each tenant in turn, and removes the first that is taken. That tenant then moves to the end, and
   * so does the group among those of the tenant.
   *
   * @param take returns whether it takes the item
   * @returns whether an item was taken
   */
  shift(take: (item: Item, tenant: string) => boolean): boolean {
    for (const [tenant, waiting] of this.#tenants) {
      const [first] = waiting.groups;
      if (first === undefined || !take(first[1][0] as Item, tenant)) {
        continue;
      }
      const [group, items] = first;
      items.shift();
      waiting.size -= 1;
      this.#size -= 1;
      moveToEnd(waiting.groups, group, items.length > 0);
      moveToEnd(this.#tenants, tenant, waiting.size > 0);
      return true;
    }
    return false;
  }

  /** Removes an item; does nothing when the item is not in the queue. */
  remove(tenant: string, item: Item, group = ''): void {
    const waiting = this.#tenants.get(tenant);
    const items = waiting?.groups.get(group) ?? [];
    const index = items.indexOf(item);
    if (waiting === undefined || index < 0) {
      return;
    }
    items.splice(index, 1);
    waiting.size -= 1;
    this.#size -= 1;
    if (items.length === 0) {
      waiting.groups.delete(group);
    }
    if (waiting.size === 0) {
      this.#tenants.delete(tenant);
    }
  }

  /** Removes and returns all items. */
  clear(): Item[] {
    const items = [...this.#tenants.values()].flatMap(({ groups }) => [...groups.values()].flat());
    this.#tenants.clear();
    this.#size = 0;
    return items;
  }
}

/** Moves an entry behind all others, or deletes it if it is not kept. */
function moveToEnd<Value>(map: Map<string, Value>, key: string, isKept: boolean): void {
  const value = map.get(key) as Value;
  map.delete(key);
  if (isKept) {
    map.set(key, value);
  }
}
