import { HeldKeys } from '../message/held-keys.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { PublishResult } from './outbox-publisher.js';

/** One row of the group as it passes through the interceptors. */
interface Member {
  readonly key: string | undefined;
  /** `rejected`: an interceptor threw before the row reached the publisher. */
  state: 'under way' | 'reached' | 'rejected' | 'done';
  /** Set when the row reaches the publisher: the row as the interceptors passed it on, and how to end its step. */
  reached?: { readonly row: OutboxRow; readonly end: (result: PublishResult) => void };
}

/**
 * Passes every row of a group through the interceptors separately, as if it were published alone. Once each row has
 * reached the publisher or was rejected, those that reached it are sent in one call.
 */
export class GroupBarrier {
  readonly #members: readonly Member[];
  readonly #everyoneArrived: Promise<void>;
  #open: () => void = () => {};
  #underWay: number;

  constructor(rows: readonly OutboxRow[]) {
    this.#members = rows.map(({ key }) => ({ key, state: 'under way' }));
    this.#underWay = rows.length;
    this.#everyoneArrived = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** The row has passed every interceptor. Settles when the call that carries it has ended. */
  reach(index: number, row: OutboxRow): Promise<void> {
    return new Promise((resolve, reject) => {
      const member = this.#members[index];
      if (member?.state !== 'under way') throw new TypeError('an interceptor must call next once');
      const end = (result: PublishResult): void =>
        result.status === 'fulfilled' ? resolve() : reject(result.reason);
      member.reached = { row, end };
      this.#arrive(member, 'reached');
    });
  }

  /** The interceptors are done with the row. If it has not reached the publisher, it never will. */
  leave(index: number, result: PublishResult): void {
    const member = this.#members[index];
    if (member?.state === 'under way')
      this.#arrive(member, result.status === 'rejected' ? 'rejected' : 'done');
  }

  async sendWith(sendRows: (rows: readonly OutboxRow[]) => Promise<readonly PublishResult[]>): Promise<void> {
    await this.#everyoneArrived;
    const sending = this.#inOrder();
    if (sending.length === 0) return;
    try {
      const results = await sendRows(sending.map(({ row }) => row));
      for (const [index, result] of results.entries()) sending[index]?.end(result);
    } catch (reason) {
      for (const { end } of sending) end({ status: 'rejected', reason });
    }
  }

  #arrive(member: Member, state: Member['state']): void {
    member.state = state;
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#open();
  }

  /** The rows to send. A row behind a rejected row of its key would overtake it, so it is rejected too. */
  #inOrder(): Array<NonNullable<Member['reached']>> {
    const held = new HeldKeys();
    return this.#members.flatMap((member) => {
      if (member.state === 'rejected') held.hold(member);
      if (!member.reached) return [];
      if (!held.has(member)) return [member.reached];
      member.reached.end({
        status: 'rejected',
        reason: new Error('an interceptor rejected an older row with the same key'),
      });
      return [];
    });
  }
}
