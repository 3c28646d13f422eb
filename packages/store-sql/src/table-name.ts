import { OutboxError } from '@postcommit/core';

/** PostgreSQL truncates identifiers at 63 bytes, MySQL rejects more than 64; index names add a suffix to the table name. */
const MAX_LENGTH = 40;
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

export interface TableOptions {
  /** @default 'outbox' */
  readonly table?: string;
  /** @default the connection's search path; on MySQL, its database */
  readonly schema?: string;
}

/** The character that quotes an identifier in SQL text. */
export type NameQuote = '"' | '`';

/** Quotes a name for SQL text, whatever characters it contains. */
export function quoteName(name: string, quote: NameQuote = '"'): string {
  return `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
}

/** Quotes a text as a PostgreSQL literal; an `E` string if it contains a backslash. */
export function quoteText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}

/** Formats a name from the catalog for a message: quoted unless it is a plain word. */
export function nameInText(name: string, quote: NameQuote = '"'): string {
  return IDENTIFIER.test(name) ? name : quoteName(name, quote);
}

/**
 * The names of the outbox tables, validated and quoted.
 *
 * @throws OutboxError `INVALID_CONFIG` if a name is longer than 40 characters or not a plain identifier.
 */
export class TableName {
  readonly table: string;
  readonly schema: string | undefined;
  /** The table in SQL text: `"app"."outbox"`. */
  readonly sql: string;
  readonly #quote: NameQuote;

  constructor({ table = 'outbox', schema }: TableOptions = {}, quote: NameQuote = '"') {
    this.#quote = quote;
    this.table = checked(table, 'table');
    this.schema = schema === undefined ? undefined : checked(schema, 'schema');
    this.sql = this.beside(this.table);
  }

  /** The name of something that belongs to the table, e.g. an index: `"app"."outbox_locks"`. */
  quoted(suffix: string): string {
    return this.beside(`${this.table}${suffix}`);
  }

  /** Quotes any name and qualifies it with the schema of the table. */
  beside(name: string): string {
    const quoted = quoteName(name, this.#quote);
    return this.schema === undefined ? quoted : `${quoteName(this.schema, this.#quote)}.${quoted}`;
  }

  /** Returns the quoted name of an index or constraint of the table, without the schema. */
  part(suffix: string): string {
    return quoteName(`${this.table}${suffix}`, this.#quote);
  }
}

function checked(name: string, what: string): string {
  if (typeof name === 'string' && IDENTIFIER.test(name) && name.length <= MAX_LENGTH) return name;
  throw new OutboxError(
    'INVALID_CONFIG',
    `${what} name must be 1 to ${MAX_LENGTH} letters, digits and underscores, not starting with a digit; got ${JSON.stringify(name)}`,
  );
}
