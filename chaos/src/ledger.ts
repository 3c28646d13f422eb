import pg from '../../internal/test-database/src/pg.js';

/** What is recorded outside of the database under test; it is never faulted. */
export interface Intent {
  readonly orderId: string;
  readonly key: string | null;
  readonly producer: string;
  /** The same for all orders of one transaction. */
  readonly transaction: string;
  /** The fingerprint of the payload. A published payload must have the same. */
  readonly fingerprint: string;
}

export interface Commit {
  readonly orderId: string;
  /** `found`: the answer to COMMIT was lost, and the order was looked up afterwards. */
  readonly how: 'answered' | 'found';
}

export interface ClaimRecord {
  readonly rowId: string;
  readonly token: string;
  readonly process: string;
  readonly retakes: number;
}

export interface SettleRecord {
  readonly rowId: string;
  readonly token: string;
  readonly process: string;
}

/** `delivered, then failed`: the message was delivered, but the publisher reported a failure. */
export type PublishOutcome = 'delivered' | 'failed' | 'delivered, then failed';

export interface PublishRecord {
  readonly rowId: string;
  readonly orderId: string;
  readonly token: string;
  readonly process: string;
  readonly attempt: number;
  readonly outcome: PublishOutcome;
  readonly fingerprint: string;
}

/** An operator's step after which a row may be published once more. */
export interface Operation {
  readonly rowId: string;
  readonly what: string;
}

/** A place in the one order of all that the ledger heard of. */
export interface Moment {
  readonly moment: number;
}

export interface FaultRecord {
  readonly what: string;
  /** The process it hit; null: every process. */
  readonly process: string | null;
  readonly began: number;
  /** Null while it lasts. */
  readonly ended: number | null;
}

const SCHEMA = `
  create sequence moments;
  create table intents ("orderId" text primary key, key text, producer text, transaction text, fingerprint text, moment bigint default nextval('moments'));
  create table commits ("orderId" text primary key, how text, moment bigint default nextval('moments'));
  create table claims ("rowId" text, token text, process text, retakes int, moment bigint default nextval('moments'));
  create table settles ("rowId" text, token text, process text, moment bigint default nextval('moments'));
  create table publishes (
    "rowId" text, "orderId" text, token text, process text, attempt int, outcome text, fingerprint text,
    moment bigint default nextval('moments')
  );
  create table operations ("rowId" text, what text, moment bigint default nextval('moments'));
  create table faults (
    id int generated always as identity, what text, process text, began bigint default nextval('moments'), ended bigint
  );`;

/**
 * The second database. All records draw their moment from one sequence: a record that was answered before another was
 * sent has the smaller one, whatever process wrote it.
 */
export class Ledger {
  readonly #pool: pg.Pool;

  constructor(url: string) {
    // pg returns bigint as text; these times are far below 2^53.
    const types = {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
    };
    this.#pool = new pg.Pool({ connectionString: url, max: 4, types: types as pg.CustomTypesConfig });
    this.#pool.on('error', () => {});
  }

  async create(): Promise<void> {
    await this.#pool.query(SCHEMA);
  }

  async intend(intents: readonly Intent[]): Promise<void> {
    await this.#write(
      'intents',
      '"orderId" text, key text, producer text, transaction text, fingerprint text',
      intents,
    );
  }

  async committed(commits: readonly Commit[]): Promise<void> {
    await this.#write('commits', '"orderId" text, how text', commits);
  }

  async claimed(claims: readonly ClaimRecord[]): Promise<void> {
    await this.#write('claims', '"rowId" text, token text, process text, retakes int', claims);
  }

  async settled(settles: readonly SettleRecord[]): Promise<void> {
    await this.#write('settles', '"rowId" text, token text, process text', settles);
  }

  async published(publishes: readonly PublishRecord[]): Promise<void> {
    const columns =
      '"rowId" text, "orderId" text, token text, process text, attempt int, outcome text, fingerprint text';
    await this.#write('publishes', columns, publishes);
  }

  async operated(operations: readonly Operation[]): Promise<void> {
    await this.#write('operations', '"rowId" text, what text', operations);
  }

  /** Gives the way to say that it has ended. */
  async faultBegan(what: string, process: string | null): Promise<() => Promise<void>> {
    const { rows } = await this.#pool.query<{ id: number }>(
      'insert into faults (what, process) values ($1, $2) returning id',
      [what, process],
    );
    return async () => {
      await this.#pool.query(`update faults set ended = nextval('moments') where id = $1`, [rows[0]?.id]);
    };
  }

  read<T extends object>(table: string): Promise<T[]> {
    return this.#pool.query<T & pg.QueryResultRow>(`select * from ${table}`).then(({ rows }) => rows);
  }

  async query<T extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<T[]> {
    return (await this.#pool.query<T>(text, values)).rows;
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /** WITH ORDINALITY: the moments follow the list. */
  async #write(table: string, columns: string, records: readonly object[]): Promise<void> {
    if (records.length === 0) return;
    const names = [...columns.matchAll(/("?\w+"?) \w+/g)].map(([, name]) => name).join(', ');
    await this.#pool.query(
      `insert into ${table} (${names})
       select ${names} from rows from (json_to_recordset($1::json) as (${columns})) with ordinality order by ordinality`,
      [JSON.stringify(records)],
    );
  }
}
