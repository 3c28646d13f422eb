import { PermanentError, TransientError, UnavailableError } from '../../src/message/errors.js';
import type { OutboxRow } from '../../src/message/outbox-row.js';
import type { PublishContext } from '../../src/message/publish-context.js';
import {
  OutboxPublisher,
  type PublishBatchContext,
  type PublishResult,
} from '../../src/publish/outbox-publisher.js';
import type { PublishFault, Settings } from './settings.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

/** How one call to the broker goes. */
interface SendPlan {
  readonly fault: PublishFault | undefined;
  /** From the call on. Absent: only when the bad times are over. */
  readonly endMs: number | undefined;
  /** Nobody answers at the broker's address. */
  readonly isRefused: boolean;
  /** Ends at once when its signal aborts, instead of going on. */
  readonly obeys: boolean;
  /** It is on its way already: neither the death of its process nor a freeze holds it up. */
  readonly isOnTheWire: boolean;
}

/**
 * The broker as one process reaches it. It reports to the ledgers what was really sent, which is not always what it
 * reports to the engine. Rows of one key are sent in order, and none behind a failed one, as the contract requires.
 */
export class ProcessPublisher extends OutboxPublisher {
  readonly #world: World;
  readonly #process: SimProcess;
  readonly #settings: Settings;

  constructor(world: World, process: SimProcess, settings: Settings) {
    super();
    this.#world = world;
    this.#process = process;
    this.#settings = settings;
  }

  async publish(row: OutboxRow, { signal, attempt }: PublishContext): Promise<void> {
    if (attempt !== row.attempts + 1)
      this.#world.history.violated('I8', `${row.id} was published as attempt ${attempt}`);
    const [result] = await this.send([row], signal);
    if (result?.status === 'rejected') throw result.reason;
  }

  protected send(rows: readonly OutboxRow[], signal: AbortSignal): Promise<PublishResult[]> {
    return new Promise((resolve, reject) => {
      if (this.#process.isDead) return;
      const { claims } = this.#world;
      claims.publishStarted(rows, signal);
      this.#world.pace.publishStarted(this.#process, this.#settings, rows);
      const poison = rows.find(({ id }) => this.#world.rows.story(id).kind === 'poison');
      if (poison) {
        this.#dieOf(poison);
        return;
      }
      const plan = this.#plan();
      let isOver = false;
      const fail = (error: Error): void => {
        for (const row of rows) claims.publishEnded(row, 'error');
        reject(error);
      };
      const finish = (): void => {
        if (isOver) return;
        isOver = true;
        // What the broker did with each row, and what it says: the two differ when the answer is lost.
        const sent = this.#sendEach(rows, plan);
        this.#process.deliver(() => {
          if (plan.fault === 'result lost' && !sent.some(isAbsence))
            return fail(new Error('broker: result lost'));
          for (const [place, row] of rows.entries()) claims.publishEnded(row, endOf(sent[place]));
          resolve(sent);
        });
      };
      if (plan.obeys)
        signal.addEventListener('abort', () => {
          if (isOver) return;
          isOver = true;
          fail(signal.reason);
        });
      this.#after(plan, finish);
    });
  }

  #sendEach(rows: readonly OutboxRow[], plan: SendPlan): PublishResult[] {
    const failedKeys = new Set<string>();
    const absence = this.#absence(plan);
    if (absence) return rows.map(() => ({ status: 'rejected', reason: absence }));
    return rows.map((row) => {
      const isBehindFailed = row.key !== undefined && failedKeys.has(row.key);
      const error = isBehindFailed ? new Error('broker: not sent') : this.#errorFor(plan, rows.length);
      if (!error) {
        this.#world.claims.sent(row, this.#process.name);
        if (this.#process.isStopped) this.#world.stops.sentAfterStop(this.#process, row);
        return { status: 'fulfilled' };
      }
      if (row.key !== undefined) failedKeys.add(row.key);
      return { status: 'rejected', reason: error };
    });
  }

  /** How a client reports a broker that is away, or that has gone away since the call began. */
  #absence({ isRefused }: SendPlan): Error | undefined {
    const { random, isBrokerAway } = this.#world;
    if (!isRefused && !isBrokerAway) return undefined;
    if (!isRefused) return networkError('ECONNRESET');
    return random.pick([
      networkError('ECONNREFUSED'),
      networkError('ETIMEDOUT'),
      new UnavailableError('broker: unavailable', { retryAfterMs: random.whole(0, 800) }),
      new UnavailableError('broker: login refused', { isCertain: true }),
    ]);
  }

  /** Of several rows, some fail and some do not. */
  #errorFor({ fault }: SendPlan, size: number): Error | undefined {
    if (size > 1 && this.#world.random.chance(0.5)) return undefined;
    switch (fault) {
      case 'fails':
        return new Error('broker: refused');
      case 'permanent':
        return new PermanentError('broker: never');
      case 'retry later':
        return new TransientError('broker: busy', this.#world.random.whole(10, 800));
      default:
        return undefined;
    }
  }

  #plan(): SendPlan {
    const { random, weather, isBad, isBrokerAway, history } = this.#world;
    const hasFault = isBad && !isBrokerAway && random.chance(weather.publishFaults);
    const fault = hasFault ? random.pick(weather.publishFaultKinds) : undefined;
    if (fault) history.note(this.#process.name, `broker: ${fault}`);
    const usualMs = random.between(1, Math.min(weather.publishMs, 0.9 * this.#settings.publishTimeoutMs));
    const slowMs = random.between(0.5, 3) * this.#settings.publishTimeoutMs;
    return {
      fault,
      isRefused: isBrokerAway,
      endMs: fault === 'hangs' ? undefined : fault === 'slow' ? slowMs : usualMs,
      obeys: random.chance(0.6),
      isOnTheWire: random.chance(0.5),
    };
  }

  #after({ fault, endMs, isOnTheWire }: SendPlan, finish: () => void): void {
    const { clock } = this.#world;
    const go = (): void => {
      if (isOnTheWire) finish();
      else this.#process.deliver(finish);
    };
    // What is slow is so only in bad times; ending twice is ending once.
    if (endMs !== undefined) clock.schedule(endMs, go);
    if (endMs === undefined || fault === 'slow') this.#world.whenGoodTimesCome(go);
  }

  /** Some at once, some after a while, as when memory runs out. */
  #dieOf({ id }: OutboxRow): void {
    const delayMs = this.#world.random.pick([0, 1, 30]);
    this.#world.clock.schedule(delayMs, () =>
      this.#process.deliver(() => this.#world.kill(this.#process, { kind: 'poisoned', id })),
    );
  }
}

/** For brokers that take many messages at once. */
export class BatchProcessPublisher extends ProcessPublisher {
  override publishBatch(
    rows: readonly OutboxRow[],
    { signal }: PublishBatchContext,
  ): Promise<readonly PublishResult[]> {
    return this.send(rows, signal);
  }
}

class NetworkError extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`broker: ${code}`);
    this.code = code;
  }
}

/** As `fetch` and most clients report it: the code is on the cause. */
function networkError(code: string): Error {
  return new Error('broker: not sent', { cause: new NetworkError(code) });
}

function isAbsence(result: PublishResult | undefined): boolean {
  if (result?.status !== 'rejected') return false;
  const { reason } = result;
  if (!(reason instanceof Error)) return false;
  return reason instanceof UnavailableError || reason.cause instanceof NetworkError;
}

function endOf(result: PublishResult | undefined): 'ok' | 'error' | 'permanent' | 'away' {
  if (result?.status === 'fulfilled') return 'ok';
  if (isAbsence(result)) return 'away';
  return result?.reason instanceof PermanentError ? 'permanent' : 'error';
}
