import { setTimeout as pause } from 'node:timers/promises';
import {
  OutboxPublisher,
  type OutboxRow,
  PermanentError,
  type PublishContext,
  type PublishResult,
} from '@postcommit/core';
import { sendTo } from '../broker.js';
import { fingerprint } from '../fingerprint.js';
import type { Ledger, PublishOutcome, PublishRecord } from '../ledger.js';
import type { Behaviour } from '../messages.js';
import type { Poison, Reach } from '../producer.js';

interface OrderPayload {
  readonly order: string;
  readonly fails?: Poison;
}

/** What is thrown is not always an Error. */
const THROWN: Readonly<Record<string, () => unknown>> = {
  'an Error': () => new Error('the broker is down'),
  'a string': () => 'the broker is down',
  undefined: () => undefined,
  null: () => null,
  'a number': () => 503,
  'an object without a prototype': () => Object.create(null),
  'an object that throws when it is read': () => ({
    get message(): string {
      throw new Error('unreadable');
    },
    toString(): string {
      throw new Error('unreadable');
    },
  }),
};

export const THROWN_NAMES: readonly string[] = Object.keys(THROWN);

/** The outside world is the ledger: a row is delivered when it stands there. */
export class LedgerPublisher extends OutboxPublisher {
  readonly #ledger: Ledger;
  readonly #process: string;
  readonly #reach: Reach;
  #behaviour: Behaviour;
  #changed = new AbortController();

  constructor(ledger: Ledger, process: string, behaviour: Behaviour, reach: Reach) {
    super();
    this.#ledger = ledger;
    this.#process = process;
    this.#behaviour = behaviour;
    this.#reach = reach;
  }

  behave(behaviour: Behaviour): void {
    this.#behaviour = behaviour;
    this.#changed.abort();
    this.#changed = new AbortController();
  }

  async publish(row: OutboxRow, { signal }: PublishContext): Promise<void> {
    const failure = failureOf(row);
    if (failure) {
      await this.#record('failed', row);
      throw failure;
    }
    const behaviour = this.#behaviour;
    switch (behaviour.kind) {
      case 'fail':
        await this.#record('failed', row);
        throw (THROWN[behaviour.thrown ?? 'an Error'] as () => unknown)();
      case 'hang':
        await this.#record(behaviour.delivers ? 'delivered, then failed' : 'failed', row);
        await ended(behaviour.obeys ? signal : this.#changed.signal);
        throw new Error('hung');
      case 'deliver slowly':
        await pause(behaviour.ms, undefined, { signal });
        await this.#record('delivered', row);
        break;
      case 'send':
        await sendTo(behaviour.port, messageOf(row), signal).catch(async (error: unknown) => {
          await this.#record('failed', row);
          throw error;
        });
        await this.#record('delivered', row);
        break;
      case 'deliver, then fail':
        await this.#record('delivered, then failed', row);
        throw new Error('the answer timed out');
      default:
        await this.#reach('in the publish, before its effect');
        await this.#record('delivered', row);
        await this.#reach('in the publish, after its effect');
    }
  }

  async #record(outcome: PublishOutcome, ...rows: readonly OutboxRow[]): Promise<void> {
    await this.#ledger.published(rows.map((row) => recordOf(row, this.#process, outcome)));
  }

  protected async publishAll(rows: readonly OutboxRow[]): Promise<readonly PublishResult[]> {
    const { failAt } = this.#behaviour as { failAt?: number };
    if (failAt !== undefined) this.#behaviour = { kind: 'batch' };
    const broken = new Set<string | undefined>();
    const results = rows.map((row, place): PublishResult => {
      // What stands behind a failed row of its key is not sent.
      if (row.key !== undefined && broken.has(row.key)) return { status: 'rejected', reason: 'not sent' };
      const failure = place === failAt ? new Error(`place ${place} failed`) : failureOf(row);
      if (!failure) return { status: 'fulfilled' };
      broken.add(row.key);
      return { status: 'rejected', reason: failure };
    });
    await this.#ledger.published(
      rows.flatMap((row, place) => {
        const result = results[place];
        if (result?.status === 'rejected' && result.reason === 'not sent') return [];
        return [recordOf(row, this.#process, result?.status === 'fulfilled' ? 'delivered' : 'failed')];
      }),
    );
    return results;
  }
}

/** The same, for brokers that take many at once. */
export class LedgerBatchPublisher extends LedgerPublisher {
  override publishBatch(rows: readonly OutboxRow[]): Promise<readonly PublishResult[]> {
    return this.publishAll(rows);
  }
}

function recordOf(row: OutboxRow, process: string, outcome: PublishOutcome): PublishRecord {
  return {
    rowId: row.id,
    orderId: (row.payload as OrderPayload).order,
    token: row.claimToken ?? '',
    process,
    attempt: row.attempts + 1,
    outcome,
    fingerprint: fingerprint(row.payload),
  };
}

/** A poisoned message says itself how often it fails. */
function failureOf({ payload, attempts }: OutboxRow): Error | undefined {
  const { fails } = payload as OrderPayload;
  if (fails === undefined || fails === 'cuts') return undefined;
  if (fails === 'kills') process.kill(process.pid, 'SIGKILL');
  if (fails === 'permanent') return new PermanentError('refused for good');
  return fails === 'always' || attempts < Number(fails) ? new Error('refused') : undefined;
}

/** The first word is for the broker. */
function messageOf({ id, payload }: OutboxRow): string {
  return `${(payload as OrderPayload).fails === 'cuts' ? 'cut' : 'take'} ${id}`;
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
