import { OutboxError } from '@postcommit/core';

/** PostgreSQL cuts identifiers at 63 bytes, MySQL refuses more than 64; index names are made of the table's name and a suffix. */
const MAX_LENGTH = 40;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

export interface TableOptions {
  /** Default `outbox`. */
  readonly table?: string;
  /** Default: the connection's search path; on MySQL, its database. */
  readonly schema?: string;
}

/** The one identifier that enters SQL text: checked here, quoted here. */
export class TableName {
  readonly table: string;
  readonly schema: string | undefined;
  readonly #quote: string;

  constructor({ table = 'outbox', schema }: TableOptions = {}, quote = '"') {
    this.#quote = quote;
    this.table = checked(table, 'table');
    this.schema = schema === undefined ? undefined : checked(schema, 'schema');
  }

  /** `"app"."outbox"`; with a suffix, the name of something that belongs to the table. */
  quoted(suffix = ''): string {
    const name = this.#quoted(`${this.table}${suffix}`);
    return this.schema === undefined ? name : `${this.#quoted(this.schema)}.${name}`;
  }

  toString(): string {
    return this.quoted();
  }

  #quoted(name: string): string {
    return `${this.#quote}${name}${this.#quote}`;
  }
}

function checked(name: string, what: string): string {
  if (typeof name === 'string' && IDENTIFIER.test(name) && name.length <= MAX_LENGTH) return name;
  throw new OutboxError(
    'INVALID_CONFIG',
    `${what} name must be 1 to ${MAX_LENGTH} letters, digits and underscores, not starting with a digit; got ${JSON.stringify(name)}`,
  );
}
