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

/** Stands around a name in SQL text. */
export type NameQuote = '"' | '`';

/** A name as it may stand in SQL text, whatever characters it has. */
export function quoteName(name: string, quote: NameQuote = '"'): string {
  return `${quote}${name.replaceAll(quote, quote + quote)}${quote}`;
}

/** A text as a literal of PostgreSQL; with `E` where a backslash could mean something. */
export function quoteText(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? `E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}

/** A name from the catalog inside a sentence: quoted unless it is a plain word. */
export function nameInText(name: string, quote: NameQuote = '"'): string {
  return IDENTIFIER.test(name) ? name : quoteName(name, quote);
}

/** The names of the outbox's own tables: checked here, quoted here. */
export class TableName {
  readonly table: string;
  readonly schema: string | undefined;
  readonly #quote: NameQuote;

  constructor({ table = 'outbox', schema }: TableOptions = {}, quote: NameQuote = '"') {
    this.#quote = quote;
    this.table = checked(table, 'table');
    this.schema = schema === undefined ? undefined : checked(schema, 'schema');
  }

  /** `"app"."outbox"`; with a suffix, the name of something that belongs to the table. */
  quoted(suffix = ''): string {
    return this.beside(`${this.table}${suffix}`);
  }

  /** Any name, quoted, in the schema of the table. */
  beside(name: string): string {
    const quoted = quoteName(name, this.#quote);
    return this.schema === undefined ? quoted : `${quoteName(this.schema, this.#quote)}.${quoted}`;
  }

  /** The quoted name of an index or a constraint of the table, without the schema. */
  part(suffix: string): string {
    return quoteName(`${this.table}${suffix}`, this.#quote);
  }

  toString(): string {
    return this.quoted();
  }
}

function checked(name: string, what: string): string {
  if (typeof name === 'string' && IDENTIFIER.test(name) && name.length <= MAX_LENGTH) return name;
  throw new OutboxError(
    'INVALID_CONFIG',
    `${what} name must be 1 to ${MAX_LENGTH} letters, digits and underscores, not starting with a digit; got ${JSON.stringify(name)}`,
  );
}
