import type { ClaimedBatch } from '../dispatch/claimed-batch.js';

/** The batches that a worker has claimed and not yet settled, and what a stop does to all of them. */
export class BatchesInFlight {
  /** With their ends, which never reject. */
  readonly #ends = new Map<ClaimedBatch, Promise<void>>();

  add(batch: ClaimedBatch, end: Promise<void>): void {
    this.#ends.set(batch, end);
  }

  remove(batch: ClaimedBatch): void {
    this.#ends.delete(batch);
  }

  get size(): number {
    return this.#ends.size;
  }

  get rows(): number {
    return this.#batches.reduce((sum, batch) => sum + batch.rowsInFlight, 0);
  }

  get hasSuspect(): boolean {
    return this.#batches.some(({ isSuspect }) => isSuspect);
  }

  /** When those have ended that are in flight now. */
  async ended(): Promise<void> {
    await Promise.all(this.#ends.values());
  }

  /** And all that came after them. */
  async allEnded(): Promise<void> {
    while (this.#ends.size > 0) await this.ended();
  }

  /** See `ClaimedBatch`. */
  async giveBackUnstarted(lost: Set<string>): Promise<void> {
    await Promise.all(this.#batches.map((batch) => batch.giveBackUnstarted(lost)));
  }

  abandonRunning(reason: Error): string[] {
    return this.#batches.flatMap((batch) => batch.abandonRunning(reason));
  }

  giveUpSettling(): string[] {
    return this.#batches.flatMap((batch) => batch.giveUpSettling());
  }

  get #batches(): ClaimedBatch[] {
    return [...this.#ends.keys()];
  }
}
