import type { MemoryOutboxStore, MemoryTable } from '@postcommit/store-memory';
import type { OutboxBacklog, OutboxCounts, OutboxRow, RowFilter } from '../../src/message/outbox-row.js';
import type { Outcome } from '../../src/message/outcome.js';
import type { ClaimOptions } from '../../src/store/claim-options.js';
import type { LookAhead } from '../../src/store/look-ahead.js';
import { OutboxStore } from '../../src/store/outbox-store.js';
import type { Settings } from './settings.js';
import type { SimProcess } from './sim-process.js';
import type { World } from './world.js';

/** How one call to the store goes. Times are from the call on. */
interface CallPlan {
  /** Absent: it has no effect. */
  readonly effectMs?: number;
  /** Absent: no answer comes, before the bad times are over. */
  readonly answerMs?: number;
  readonly error?: string;
  /** Whether what was under way has its effect although its process died. */
  readonly outlivesCaller: boolean;
}

/** The slowest answers come while the good times last. */
const SLOWEST_MS = 9_000;
/** Slower than this is a fault. */
const USUAL_MS = 3;

/**
 * The store as one process reaches it. Every call may fail before or after its effect, or be late, or never be
 * answered; whatever really happens is entered in the ledgers.
 */
export class ProcessStore extends OutboxStore {
  readonly #world: World;
  readonly #process: SimProcess;
  readonly #settings: Settings;
  readonly #inner: MemoryOutboxStore;
  readonly #table: MemoryTable;

  constructor(world: World, process: SimProcess, settings: Settings, inner: MemoryOutboxStore) {
    super({ claimTimeoutMs: settings.claimTimeoutMs });
    this.#world = world;
    this.#process = process;
    this.#settings = settings;
    this.#inner = inner;
    this.#table = world.table;
  }

  /** Somebody in this process enqueued something. */
  hint(): void {
    this.announce(['a row']);
  }

  get hasListeners(): boolean {
    return this.hasEnqueueListeners;
  }

  async fetchPending(limit: number, options?: ClaimOptions): Promise<OutboxRow[]> {
    const { claims, clock } = this.#world;
    const sentAtMs = clock.elapsedMs;
    const rows = await this.reach(async () => {
      const claimed = await this.#inner.fetchPending(limit, options);
      claims.claimed(claimed, this.#process, this.#settings, sentAtMs);
      return claimed;
    });
    const claim = claims.claim(rows[0]?.claimToken ?? '');
    if (claim) claim.isReceived = true;
    return rows;
  }

  async settle(claimToken: string | undefined, outcomes: readonly Outcome[]): Promise<string[]> {
    if (claimToken === undefined) throw new Error('the engine settles under its claims only');
    return this.#settle(claimToken, outcomes, true);
  }

  override release(ids: readonly string[], claimToken: string): Promise<string[]> {
    const outcomes = ids.map((id) => ({ id, kind: 'released' }) as const);
    return this.#settle(claimToken, outcomes, false);
  }

  async extendClaim(claimToken: string, ids: readonly string[]): Promise<string[]> {
    const { claims, clock } = this.#world;
    const sentAtMs = clock.elapsedMs;
    const kept = await this.reach(async () => {
      const extended = await this.#inner.extendClaim(claimToken, ids);
      claims.extended(claimToken, extended);
      return extended;
    });
    if (kept.length > 0) claims.extensionAnswered(claimToken, sentAtMs);
    return kept;
  }

  backlog(atMost?: number): Promise<OutboxBacklog> {
    return this.reach(() => this.#inner.backlog(atMost));
  }

  override lookAhead(): Promise<LookAhead> {
    return this.reach(() => this.#inner.lookAhead());
  }

  count(): Promise<OutboxCounts> {
    return this.#inner.count();
  }

  peek(filter: RowFilter, limit: number): Promise<OutboxRow[]> {
    return this.#inner.peek(filter, limit);
  }

  requeue = operatorOnly;
  requeueWhere = operatorOnly;
  discard = operatorOnly;
  cancel = operatorOnly;
  purgeDispatched = operatorOnly;
  purgeDead = operatorOnly;
  protected insert = operatorOnly;

  /** `ofBatch`: the batch's own settle, after which it emits the outcomes of its rows. */
  async #settle(token: string, outcomes: readonly Outcome[], ofBatch: boolean): Promise<string[]> {
    const { claims, events } = this.#world;
    if (!this.#process.isDead) claims.settleSent(token, outcomes, ofBatch);
    const sentAtMs = this.#process.monotonicMs();
    try {
      const settled = await this.reach(() => this.#settleNow(token, outcomes));
      // An answer that took about as long as a claim lasts may reach nobody, because the engine stops waiting.
      const failed = this.#process.monotonicMs() - sentAtMs > this.claimTimeoutMs - 1;
      claims.settleAnswered(token, outcomes, { failed, ofBatch });
      if (ofBatch) events.expectBatch(this.#process, claims.claim(token), outcomes, settled);
      return settled;
    } catch (error) {
      claims.settleAnswered(token, outcomes, { failed: true, ofBatch });
      throw error;
    }
  }

  /** Enters what changed in the table, whatever the store says that it did. */
  async #settleNow(token: string, outcomes: readonly Outcome[]): Promise<string[]> {
    const before = outcomes.map(({ id }) => this.#fingerprint(id));
    const settled = await this.#inner.settle(token, outcomes);
    for (const [place, outcome] of outcomes.entries())
      if (this.#fingerprint(outcome.id) !== before[place]) this.#world.claims.settled(token, outcome);
    return settled;
  }

  #fingerprint(id: string): string {
    const row = this.#table.get(id);
    return row
      ? `${row.claimToken} ${row.dispatchedAt} ${row.deadAt} ${row.attempts} ${row.retakes} ${row.availableAt}`
      : 'no row';
  }

  /** A call that has `effect`, unless the way there or back fails. */
  reach<T>(effect: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#process.isDead) return;
      const { clock } = this.#world;
      const plan = this.#plan();
      let result: Promise<T> | undefined;
      if (plan.effectMs !== undefined)
        clock.schedule(plan.effectMs, () => {
          if (!this.#process.isDead || plan.outlivesCaller) result = effect();
        });
      const answer = (): void => {
        if (plan.error === undefined && result !== undefined) resolve(result);
        else reject(new Error(`store: ${plan.error ?? 'no answer'}`));
      };
      const deliver = (): void => this.#process.deliver(answer);
      if (plan.answerMs !== undefined) clock.schedule(plan.answerMs, deliver);
      else this.#world.whenGoodTimesCome(deliver);
    });
  }

  #plan(): CallPlan {
    const { random, weather, isBad, history } = this.#world;
    const effectMs = random.between(0, USUAL_MS);
    const answerMs = effectMs + random.between(0, USUAL_MS);
    const outlivesCaller = random.chance(0.5);
    if (!isBad || !random.chance(weather.storeFaults)) return { effectMs, answerMs, outlivesCaller };
    const lateMs = random.between(50, Math.min(1.5 * this.#settings.claimTimeoutMs, SLOWEST_MS));
    const fault = random.pick(weather.storeFaultKinds);
    history.note(this.#process.name, `store call: ${fault}`);
    this.#process.troubled();
    switch (fault) {
      case 'refused':
        return { answerMs, error: fault, outlivesCaller };
      case 'answer lost':
        return { effectMs, answerMs, error: fault, outlivesCaller };
      case 'done after the error':
        return { effectMs: lateMs, answerMs, error: fault, outlivesCaller };
      case 'slow':
        this.#troubledUntil(lateMs + USUAL_MS);
        return random.chance(0.5)
          ? { effectMs, answerMs: lateMs + USUAL_MS, outlivesCaller }
          : { effectMs: lateMs, answerMs: lateMs + USUAL_MS, outlivesCaller };
      case 'hangs':
        this.#world.whenGoodTimesCome(() => this.#process.troubled());
        return random.chance(0.5) ? { effectMs, outlivesCaller } : { outlivesCaller };
    }
  }

  #troubledUntil(ms: number): void {
    this.#world.clock.schedule(ms, () => this.#process.troubled());
  }
}

function operatorOnly(): Promise<never> {
  return Promise.reject(new Error('the engine has no business with this'));
}
