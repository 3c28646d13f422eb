/**
 * Bounds the publishes that run at the same time. A publish that timed out but still runs keeps its slot:
 * giving it away would let a publisher that ignores its signal pile up calls without bound.
 */
export class PublishSlots {
  readonly #size: number;
  /** The ids of each publish that was given up and has not ended. */
  readonly #overruns = new Set<readonly string[]>();
  readonly #waiting: Array<(granted: boolean) => void> = [];
  #taken = 0;
  #overdue = 0;
  #isClosed = false;

  constructor(size: number) {
    this.#size = size;
  }

  /** Rows whose publish was given up and still runs: it may have its effect after all. */
  get overrunIds(): string[] {
    return [...this.#overruns].flat();
  }

  addOverrun(ids: readonly string[]): void {
    this.#overruns.add(ids);
  }

  removeOverrun(ids: readonly string[]): void {
    this.#overruns.delete(ids);
  }

  /** Every slot is held by a publish that timed out and has not ended. */
  get stuck(): boolean {
    return this.#overdue === this.#size;
  }

  /** False when no slot can come free, because all are stuck, or when nothing is to start any more. */
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

  /** Nothing starts until `open`; what runs goes on. */
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
