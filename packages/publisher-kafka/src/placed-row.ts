import type { KafkaRecord } from './kafka-producer.js';
import type { PreparedRow } from './kafka-record.js';
import { murmur2 } from './murmur2.js';

/** A partition of a topic, as text: `orders:3`. Topics have no colon. */
export type Place = `${string}:${number}`;

export function placeOf({ topic, partition }: { readonly topic: string; readonly partition: number }): Place {
  return `${topic}:${partition}`;
}

/** A row that knows its partition. */
export interface PlacedRow extends PreparedRow {
  readonly partition: number;
  readonly place: Place;
}

/** Chooses partitions: by the key as Java's client does, and in turn for rows without one. */
export class PartitionChoice {
  /** How many rows without a key each topic has had. */
  readonly #turns = new Map<string, number>();

  choose(prepared: PreparedRow, partitions: number): PlacedRow {
    const { topic, key } = prepared;
    const partition = (key ? murmur2(key) : this.#nextTurn(topic)) % partitions;
    return { ...prepared, partition, place: placeOf({ topic, partition }) };
  }

  #nextTurn(topic: string): number {
    const turn = this.#turns.get(topic) ?? 0;
    this.#turns.set(topic, (turn + 1) % Number.MAX_SAFE_INTEGER);
    return turn;
  }
}

export function recordOf({ topic, partition, key, value, headers }: PlacedRow): KafkaRecord {
  return { topic, partition, value, headers, ...(key && { key }) };
}
