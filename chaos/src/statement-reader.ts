/** The first message of a connection has no type; every other one has a letter before its length. */
const LENGTH_BYTES = 4;

/** Reads PostgreSQL's protocol from the client's side, and returns the text of each statement. */
export class StatementReader {
  /** Texts by the names under which they were prepared. */
  readonly #prepared = new Map<string, string>();
  #rest: Buffer = Buffer.alloc(0);
  #hasStarted = false;

  read(data: Buffer): string[] {
    this.#rest = Buffer.concat([this.#rest, data]);
    const texts: string[] = [];
    for (let message = this.#next(); message; message = this.#next()) {
      const text = this.#textOf(message.type, message.body);
      if (text !== undefined) texts.push(text);
    }
    return texts;
  }

  #next(): { type: string; body: Buffer } | undefined {
    const typeBytes = this.#hasStarted ? 1 : 0;
    if (this.#rest.length < typeBytes + LENGTH_BYTES) return undefined;
    const end = typeBytes + this.#rest.readInt32BE(typeBytes);
    if (this.#rest.length < end) return undefined;
    const type = this.#rest.toString('latin1', 0, typeBytes);
    const body = this.#rest.subarray(typeBytes + LENGTH_BYTES, end);
    this.#rest = this.#rest.subarray(end);
    this.#hasStarted = true;
    return { type, body };
  }

  /** `Q`uery carries its text; `P`arse names it, and `B`ind says which of the names is run. */
  #textOf(type: string, body: Buffer): string | undefined {
    const [first = '', second = ''] = body.toString('utf8').split('\0', 2);
    if (type === 'Q') return first;
    if (type === 'P') this.#prepared.set(first, second);
    return type === 'B' ? this.#prepared.get(second) : undefined;
  }
}
