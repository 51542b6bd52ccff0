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

  /** The row with other values of these members. */
  with(members: Partial<Row>): Json<Row> {
    return new Json(JSON.stringify({ ...this.parse(), ...members }));
  }

  /** The row without its last member. Inside a text, the quotation marks around a name would be escaped. */
  without(last: string): Json<Row> {
    return new Json(`${this.#text.slice(0, this.#text.lastIndexOf(`,"${last}":`))}}`);
  }

  toString(): string {
    return this.#text;
  }
}
