import { countRows, type Header } from './format.js';

const INTERVAL_MS = 2_000;

/** Prints how far a long export or import is, every two seconds. */
export class Progress {
  private done = 0;
  private printedAt = Date.now();

  constructor(private readonly stream: NodeJS.WritableStream) {}

  /** Counts rows of a table of the club. */
  advance(table: string, rows: number, header: Header): void {
    this.done += rows;
    if (Date.now() - this.printedAt >= INTERVAL_MS) {
      this.printedAt = Date.now();
      this.stream.write(`${this.done} of ${countRows(header)} rows, in ${table}\n`);
    }
  }
}
