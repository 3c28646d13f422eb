import type { BackoffStrategies } from '../message/backoff-strategies.js';
import { OutboxError } from '../message/errors.js';
import { assertKnownOptions, type OptionNames } from '../message/known-options.js';
import { assertWholeNumber } from '../message/option-checks.js';
import type { OutboxEntry, OutboxTopic, PayloadOf } from '../message/outbox-row.js';
import { type StandardSchema, schemaProblem } from '../message/standard-schema.js';
import { nameToken } from '../modules/token.js';
import { intercept, type OutboxInterceptor } from '../observe/interceptors.js';
import { assertEntry, type EntryLimits, toNewRow } from './entry-validation.js';
import type { NewRow } from './new-row.js';
import { createUuidv7 } from './uuidv7.js';

/** Standard Schemas (Zod, Valibot, ArkType …) by topic. */
export type OutboxTopicSchemas = { readonly [Topic in OutboxTopic]?: StandardSchema<PayloadOf<Topic>> };

export interface EnqueueOptions {
  /** Payload schemas, checked at enqueue and before publish. @default none */
  readonly topics?: OutboxTopicSchemas;
  /** Put larger data in object storage, with a reference in the payload. @default 1_048_576 (1 MiB) */
  readonly maxPayloadBytes?: number;
  /** Entries that name any other backoff strategy are refused. @default names are not checked */
  readonly backoffStrategies?: BackoffStrategies;
  readonly interceptors?: Iterable<OutboxInterceptor>;
  /** @default UUIDv7s, increasing within the process */
  readonly generateId?: () => string;
}

const ENQUEUE_NAMES: OptionNames<EnqueueOptions> = {
  topics: true,
  backoffStrategies: true,
  maxPayloadBytes: true,
  interceptors: true,
  generateId: true,
};

/** The limit for all payloads of one call, which is one statement: PostgreSQL accepts 256 MB of JSON in one. */
const MAX_CALL_LENGTH = 128 * 1_048_576;

type Insert = (rows: readonly NewRow[]) => Promise<void>;

/** The path of every entry into every store: interceptors, validation, ids, then the store's own insert. */
export class EnqueuePipeline {
  static {
    nameToken(this, '@postcommit/core/EnqueuePipeline');
  }

  readonly #options: EnqueueOptions;
  readonly #schemas: ReadonlyMap<string, StandardSchema>;
  readonly #limits: EntryLimits;
  readonly #interceptors: readonly OutboxInterceptor[];
  readonly #generateId: () => string;

  constructor(options: EnqueueOptions = {}) {
    assertKnownOptions('EnqueuePipeline', options, ENQUEUE_NAMES);
    this.#options = options;
    this.#schemas = schemaMap(options.topics ?? {});
    const { backoffStrategies } = options;
    this.#limits = { maxPayloadBytes: options.maxPayloadBytes ?? 1_048_576, backoffStrategies };
    assertMaxPayloadBytes(this.#limits.maxPayloadBytes);
    this.#interceptors = [...(options.interceptors ?? [])];
    this.#generateId = options.generateId ?? createUuidv7();
  }

  /** Validates all entries, then inserts all of them or none. Returns their ids, in order. */
  async run(entries: OutboxEntry | readonly OutboxEntry[], insert: Insert): Promise<string[]> {
    const list = Array.isArray(entries) ? (entries as readonly OutboxEntry[]) : [entries as OutboxEntry];
    if (list.length === 0) return [];
    list.forEach(assertEntry);
    if (this.#interceptors.length === 0) return this.#insertChecked(list, insert);
    const layers = this.#interceptors.map((interceptor) => interceptor.enqueue?.bind(interceptor));
    // Validation comes last, so that changes by interceptors are validated too.
    return intercept(layers, (final) => this.#insertChecked(final, insert))(list);
  }

  /** Returns the same pipeline with another source of ids, for example repeatable ones in tests. */
  withIds(generateId: () => string): EnqueuePipeline {
    return new EnqueuePipeline({ ...this.#options, generateId });
  }

  /** The backoff strategies that entries may name. Undefined if names are not checked. */
  get backoffStrategies(): BackoffStrategies | undefined {
    return this.#limits.backoffStrategies;
  }

  /** The topics that have a schema. */
  get topics(): Iterable<string> {
    return this.#schemas.keys();
  }

  hasSchema(topic: string): boolean {
    return this.#schemas.has(topic);
  }

  /** Returns what is wrong with a payload; undefined if it is valid or the topic has no schema. */
  async schemaProblem(topic: string, payload: unknown): Promise<string | undefined> {
    const schema = this.#schemas.get(topic);
    return schema && schemaProblem(schema, payload);
  }

  async #insertChecked(entries: readonly OutboxEntry[], insert: Insert): Promise<string[]> {
    const rows = this.#toNewRows(entries);
    const ids = rows.map(({ id }) => id);
    assertDistinctIds(ids);
    for (const [index, { topic, payload }] of rows.entries()) {
      if (!this.hasSchema(topic)) continue;
      // Validates the parsed JSON, as before publishing: a Date, for example, is a string by then.
      const problem = await this.schemaProblem(topic, JSON.parse(payload));
      if (problem)
        throw new OutboxError('SCHEMA_MISMATCH', `entry ${index}: payload of topic '${topic}': ${problem}`);
    }
    if (rows.length > 0) await insert(rows);
    return ids;
  }

  #toNewRows(entries: readonly OutboxEntry[]): NewRow[] {
    let length = 0;
    return entries.map((entry, index) => {
      const row = toNewRow(entry, index, this.#limits, this.#generateId);
      length += row.payload.length;
      if (length <= MAX_CALL_LENGTH) return row;
      throw new OutboxError(
        'PAYLOAD_TOO_LARGE',
        `entry ${index}: with this entry, the payloads of this call exceed 128 MiB of JSON; enqueue the list in several calls, inside one transaction if it belongs together`,
      );
    });
  }
}

function assertDistinctIds(ids: readonly string[]): void {
  if (new Set(ids).size === ids.length) return;
  const seen = new Map<string, number>();
  for (const [index, id] of ids.entries()) {
    const first = seen.get(id);
    if (first !== undefined) {
      throw new OutboxError(
        'DUPLICATE_ID',
        `entry ${index}: id '${id}' is already used by entry ${first} of this list`,
      );
    }
    seen.set(id, index);
  }
}

function schemaMap(topics: OutboxTopicSchemas): Map<string, StandardSchema> {
  const map = new Map<string, StandardSchema>();
  for (const [topic, schema] of Object.entries<StandardSchema | undefined>(topics)) {
    if (typeof schema?.['~standard']?.validate !== 'function') {
      throw new OutboxError('INVALID_CONFIG', `topics: the schema of '${topic}' is not a Standard Schema`);
    }
    map.set(topic, schema);
  }
  return map;
}

function assertMaxPayloadBytes(bytes: number): void {
  assertWholeNumber('maxPayloadBytes', bytes);
}
