/** A row as PostgreSQL wrote it: the text of a JSON object, which is sent to the client without being parsed. */
export class Json<Row> {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The row. Its times end in `+00:00`. */
  parse(): Row {
    return JSON.parse(this.#text);
  }

  toString(): string {
    return this.#text;
  }
}
