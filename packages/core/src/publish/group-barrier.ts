import { HeldKeys } from '../message/held-keys.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { PublishResult } from './outbox-publisher.js';

/** One row of the group on its way through the interceptors. */
interface Member {
  readonly key: string | undefined;
  /** `rejected`: an interceptor turned it away before it reached the publisher. */
  state: 'under way' | 'reached' | 'rejected' | 'done';
  /** The row as the interceptors passed it on, and how its step ends; set when it reaches the publisher. */
  reached?: { readonly row: OutboxRow; readonly end: (result: PublishResult) => void };
}

/**
 * Every row of a group passes the interceptors on its own, as if it were published alone. When each has reached the
 * publisher or was turned away, those that reached it are sent in one call.
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

  /** The row came through every interceptor. Ends when the call that carries it has ended. */
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

  /** The interceptors are done with the row. Before it reached the publisher, that means it will not. */
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

  /** Rows that may go out. One behind a row of its key that was turned away would overtake it. */
  #inOrder(): Array<NonNullable<Member['reached']>> {
    const held = new HeldKeys();
    return this.#members.flatMap((member) => {
      if (member.state === 'rejected') held.hold(member);
      if (!member.reached) return [];
      if (!held.has(member)) return [member.reached];
      member.reached.end({
        status: 'rejected',
        reason: new Error('an older row of its key was turned away'),
      });
      return [];
    });
  }
}
