/** Pseudorandom numbers by a seed (mulberry32), so that every run can be repeated. */
export class Random {
  constructor(private state: number) {}

  /** At least 0, less than 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `least` up to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  isTrue(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.next() * items.length)] as Item;
  }

  /** One of the names, with the probability of its weight. */
  weighted<Name extends string>(weights: Record<Name, number>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    const end = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    let sum = 0;
    for (const [name, weight] of entries) {
      sum += weight;
      if (end < sum) {
        return name;
      }
    }
    return (entries[0] as [Name, number])[0];
  }

  hex(digits: number): string {
    return Array.from({ length: digits }, () => this.between(0, 15).toString(16)).join('');
  }

  /** An id that no row has. */
  missingId(): string {
    return `00000000-0000-4000-8000-${this.hex(12)}`;
  }
}
