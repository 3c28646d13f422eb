import type { PublishResult } from '@postcommit/core';
import { describe, expect, it } from 'vitest';
import { type Place, type PlacedRow, placeOf } from '../src/placed-row.js';
import { type Outcomes, type PlaceOutcome, SendRounds } from '../src/send-rounds.js';
import { rowOf } from './rows.js';

const MAX_BYTES = 1_000;
const PARTITIONS = 3;
const RUNS = 300;

interface RowPlan {
  readonly key?: string;
  readonly partition: number;
  readonly bytes?: number;
  readonly isBad?: boolean;
}

function placed({ key, partition, bytes = 10 }: RowPlan, index: number): PlacedRow {
  const row = rowOf('orders', key === undefined ? {} : { key });
  const place = placeOf({ topic: 'orders', partition });
  const fields = { topic: 'orders', key: undefined, value: Buffer.alloc(0), headers: new Map() };
  return { ...fields, row, index, bytes, partition, place };
}

/** A broker that stores a batch of a partition as a whole or not at all, and refuses those with a bad row in them. */
class Broker {
  readonly stored: number[] = [];
  readonly rounds: (readonly PlacedRow[])[] = [];
  readonly #plan: readonly RowPlan[];
  readonly #away: ReadonlySet<Place>;

  constructor(plan: readonly RowPlan[], away: readonly Place[] = []) {
    this.#plan = plan;
    this.#away = new Set(away);
  }

  publish(): PublishResult[] {
    const rows = this.#plan.map(placed);
    const rounds = new SendRounds(
      rows.map(({ row }) => row),
      MAX_BYTES,
    );
    rounds.begin(rows);
    for (let round = rounds.next(); round.length > 0; round = rounds.next()) {
      this.rounds.push(round);
      rounds.settle(round, this.#answer(round));
    }
    return rounds.results;
  }

  #answer(round: readonly PlacedRow[]): Outcomes {
    const places = [...new Set(round.map(({ place }) => place))];
    return new Map(places.map((place) => [place, this.#store(round.filter((row) => row.place === place))]));
  }

  #store(batch: readonly PlacedRow[]): PlaceOutcome {
    const [first] = batch;
    if (first && this.#away.has(first.place)) return { kind: 'failed', reason: new Error('away') };
    const isBad = batch.some(({ index }) => this.#plan[index]?.isBad);
    if (isBad) return { kind: 'refused', reason: new Error('bad') };
    this.stored.push(...batch.map(({ index }) => index));
    return { kind: 'stored' };
  }
}

function statuses(results: readonly PublishResult[]): string[] {
  return results.map(({ status }) => status);
}

describe('SendRounds', () => {
  it('sends everything at once where it can', () => {
    const broker = new Broker([{ partition: 0, key: 'a' }, { partition: 0, key: 'a' }, { partition: 1 }]);
    expect(statuses(broker.publish())).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
    expect(broker.rounds).toHaveLength(1);
  });

  it('sends the rows of a key to another partition after those before them are stored', () => {
    const plan = [0, 1, 0].map((partition) => ({ partition, key: 'a' }));
    const broker = new Broker(plan);
    broker.publish();
    expect(broker.stored).toEqual([0, 1, 2]);
    expect(broker.rounds).toHaveLength(3);
  });

  it('sends nothing more to a partition that takes nothing, nor rows behind those of their key', () => {
    const plan = [
      { partition: 0, key: 'a', bytes: 900 },
      { partition: 0, key: 'b', bytes: 900 },
      { partition: 1, key: 'a' },
      { partition: 1, key: 'c' },
    ];
    const broker = new Broker(plan, ['orders:0']);
    expect(statuses(broker.publish())).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
    expect(broker.rounds.flat().map(({ index }) => index)).toEqual([0, 3]);
  });

  it('sends a row that is larger than a batch alone', () => {
    const broker = new Broker([10, 5_000, 10].map((bytes) => ({ partition: 0, bytes })));
    expect(statuses(broker.publish())).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
    expect(broker.rounds.map((round) => round.length)).toEqual([1, 1, 1]);
  });

  it('finds one bad row among a thousand in a few requests', () => {
    const plan = Array.from({ length: 1_000 }, (_, index) => ({
      partition: 0,
      bytes: 1,
      isBad: index === 617,
    }));
    const broker = new Broker(plan);
    const rejected = statuses(broker.publish()).flatMap((status, index) =>
      status === 'rejected' ? index : [],
    );
    expect(rejected).toEqual([617]);
    expect(broker.rounds.length).toBeLessThan(40);
  });

  it('rejects a row that has no outcome', () => {
    const row = placed({ partition: 0 }, 0);
    const rounds = new SendRounds([row.row], MAX_BYTES);
    rounds.begin([row]);
    rounds.settle(rounds.next(), new Map());
    expect(statuses(rounds.results)).toEqual(['rejected']);
  });

  it('does not send rows behind one that was rejected before, and sends those in front of it', () => {
    const plan = [0, 1, 2].map(() => placed({ partition: 0, key: 'a' }, 0));
    const rows = plan.map((row, index) => ({ ...row, index }));
    const rounds = new SendRounds(
      rows.map(({ row }) => row),
      MAX_BYTES,
    );
    rounds.reject(1, new Error('not encoded'));
    rounds.begin(rows.filter(({ index }) => index !== 1));
    expect(rounds.next().map(({ index }) => index)).toEqual([0]);
  });

  it(`keeps its promises in ${RUNS} random batches`, () => {
    for (let run = 0; run < RUNS; run++) {
      const plan = randomPlan();
      const away: Place[] = Math.random() < 0.2 ? ['orders:1'] : [];
      const broker = new Broker(plan, away);
      expectPromises(plan, away, broker, broker.publish());
    }
  });
});

function randomPlan(): RowPlan[] {
  const below = (limit: number): number => Math.floor(Math.random() * limit);
  return Array.from({ length: 1 + below(60) }, () => ({
    partition: below(PARTITIONS),
    bytes: 1 + below(400),
    isBad: Math.random() < 0.1,
    ...(Math.random() < 0.6 && { key: `key-${below(5)}` }),
  }));
}

function expectPromises(
  plan: readonly RowPlan[],
  away: readonly Place[],
  broker: Broker,
  results: readonly PublishResult[],
): void {
  const stored = new Set(broker.stored);
  expect(broker.stored, 'no row is sent again once it is stored').toHaveLength(stored.size);
  const failedKeys = new Set<string>();
  for (const [index, { key, isBad = false, partition }] of plan.entries()) {
    const isBehind = key !== undefined && failedKeys.has(key);
    const isFine = !isBad && !isBehind && !away.includes(`orders:${partition}`);
    expect(stored.has(index), `row ${index} of ${JSON.stringify(plan)}`).toBe(isFine);
    expect(results[index]?.status).toBe(isFine ? 'fulfilled' : 'rejected');
    if (!isFine && key !== undefined) failedKeys.add(key);
  }
  for (const key of new Set(plan.map((row) => row.key)))
    if (key !== undefined) expectAscending(broker.stored.filter((index) => plan[index]?.key === key));
  for (const round of broker.rounds) expectBounded(round);
}

function expectAscending(numbers: readonly number[]): void {
  expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
}

function expectBounded(round: readonly PlacedRow[]): void {
  for (const place of new Set(round.map((row) => row.place))) {
    const batch = round.filter((row) => row.place === place);
    const bytes = batch.reduce((sum, row) => sum + row.bytes, 0);
    expect(bytes <= MAX_BYTES || batch.length === 1).toBe(true);
  }
}
