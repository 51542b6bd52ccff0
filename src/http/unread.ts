/** Answers that their readers have not taken yet: they stay in memory until then. */
export class Unread<Answer> {
  readonly #most: number;
  /** In the order in which they were given. */
  readonly #answers = new Map<Answer, { reader: string; bytes: number }>();
  #bytes = 0;

  /** @param most how many bytes they may be, of all readers together */
  constructor(most: number) {
    this.#most = most;
  }

  /** Counts one more. @returns what has to go for it: of whoever has the most, the oldest */
  add(answer: Answer, reader: string, bytes: number): Answer[] {
    this.remove(answer);
    this.#answers.set(answer, { reader, bytes });
    this.#bytes += bytes;
    const gone: Answer[] = [];
    while (this.#bytes > this.#most) {
      const oldest = this.#oldestOfMost();
      this.remove(oldest);
      gone.push(oldest);
    }
    return gone;
  }

  /** One that was taken, or that nobody takes any more. Repeatable. */
  remove(answer: Answer): void {
    this.#bytes -= this.#answers.get(answer)?.bytes ?? 0;
    this.#answers.delete(answer);
  }

  #oldestOfMost(): Answer {
    const shares = new Map<string, number>();
    for (const { reader, bytes } of this.#answers.values()) {
      shares.set(reader, (shares.get(reader) ?? 0) + bytes);
    }
    const largest = Math.max(...shares.values());
    const [oldest] = [...this.#answers].find(([, { reader }]) => shares.get(reader) === largest) as [
      Answer,
      unknown,
    ];
    return oldest;
  }
}
