/**
 * Limits concurrent publishes. A publish that timed out but is still running keeps its slot; otherwise a publisher that
 * ignores its signal could pile up calls without limit.
 */
export class PublishSlots {
  readonly #size: number;
  /** The ids of each publish that was aborted and is still running. */
  readonly #overruns = new Set<readonly string[]>();
  readonly #waiting: Array<(granted: boolean) => void> = [];
  #taken = 0;
  #overdue = 0;
  #isClosed = false;

  constructor(size: number) {
    this.#size = size;
  }

  /** Ids of rows whose publish was aborted and is still running. They may still be delivered. */
  get overrunIds(): string[] {
    return [...this.#overruns].flat();
  }

  addOverrun(ids: readonly string[]): void {
    this.#overruns.add(ids);
  }

  removeOverrun(ids: readonly string[]): void {
    this.#overruns.delete(ids);
  }

  /** Whether every slot is held by a publish that was aborted and is still running. */
  get stuck(): boolean {
    return this.#overdue === this.#size;
  }

  /** Takes a slot, waiting for one if necessary. False if all slots are stuck or the slots are closed. */
  acquire(): boolean | Promise<boolean> {
    if (this.stuck || this.#isClosed) return false;
    if (this.#taken < this.#size) {
      this.#taken += 1;
      return true;
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  markOverdue(): void {
    this.#overdue += 1;
    if (this.stuck) this.#refuseAll();
  }

  /** Refuses slots until `open` is called. Running publishes continue. */
  close(): void {
    this.#isClosed = true;
    this.#refuseAll();
  }

  open(): void {
    this.#isClosed = false;
  }

  release({ overdue }: { overdue: boolean }): void {
    if (overdue) this.#overdue -= 1;
    const grant = this.#waiting.shift();
    if (grant) grant(true);
    else this.#taken -= 1;
  }

  #refuseAll(): void {
    for (const refuse of this.#waiting.splice(0)) refuse(false);
  }
}
