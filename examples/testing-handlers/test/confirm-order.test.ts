import { beforeEach, describe, expect, it } from 'vitest';
import { confirmOrder, type MailServer } from '../src/confirm-order.js';
import { OutboxUnderTest } from './outbox-under-test.js';

/** Answers what the test has put in line, then 250; it keeps what it accepted by id. */
class ScriptedMailServer implements MailServer {
  readonly answers: (number | 'silence')[] = [];
  readonly accepted = new Map<string, string>();
  calls = 0;

  async send({ id, to }: { id: string; to: string }, signal: AbortSignal): Promise<number> {
    this.calls += 1;
    const answer = this.answers.shift() ?? 250;
    if (answer === 'silence') await new Promise((_, reject) => signal.addEventListener('abort', reject));
    if (answer === 250) this.accepted.set(id, to);
    return Number(answer);
  }
}

let mailServer: ScriptedMailServer;
let outbox: OutboxUnderTest;
let id: string | undefined;

beforeEach(async () => {
  mailServer = new ScriptedMailServer();
  outbox = new OutboxUnderTest(confirmOrder(mailServer));
  [id] = await outbox.store.enqueue({ topic: 'order.placed', payload: { email: 'ada@example.com' } });
});

const waiting = { fetched: 0 };
const failed = { fetched: 1, failed: 1 };
const dispatched = { fetched: 1, dispatched: 1 };
const dead = { fetched: 1, dead: 1 };

describe('confirmOrder', () => {
  it('is tried again after ten seconds, then after twenty', async () => {
    mailServer.answers.push(451, 451);
    expect(await outbox.dispatch()).toMatchObject(failed);
    expect(await outbox.dispatchAfter(9_999)).toMatchObject(waiting);
    expect(await outbox.dispatchAfter(1)).toMatchObject(failed);
    expect(await outbox.dispatchAfter(19_999)).toMatchObject(waiting);
    expect(await outbox.dispatchAfter(1)).toMatchObject(dispatched);
    expect(mailServer.accepted).toEqual(new Map([[id, 'ada@example.com']]));
  });

  it('waits as long as a server that closes asks for', async () => {
    mailServer.answers.push(421);
    expect(await outbox.dispatch()).toMatchObject(failed);
    expect(await outbox.dispatchAfter(59_999)).toMatchObject(waiting);
    expect(await outbox.dispatchAfter(1)).toMatchObject(dispatched);
  });

  it('is given up at once where there is no such mailbox', async () => {
    mailServer.answers.push(550);
    expect(await outbox.dispatch()).toMatchObject(dead);
    const [row] = await outbox.store.peek({ state: 'dead' }, 1);
    expect(row).toMatchObject({ deadReason: 'permanent', lastError: 'no such mailbox: ada@example.com' });
  });

  it('is given up after the third failure', async () => {
    mailServer.answers.push(451, 451, 451);
    expect(await outbox.dispatch()).toMatchObject(failed);
    expect(await outbox.dispatchAfter(10_000)).toMatchObject(failed);
    expect(await outbox.dispatchAfter(20_000)).toMatchObject(dead);
  });

  it('fails after five seconds of silence', async () => {
    mailServer.answers.push('silence');
    const summary = outbox.dispatch();
    await outbox.clock.advance(5_000);
    expect(await summary).toMatchObject(failed);
  });

  it('sends one mail, although a process died after sending it', async () => {
    // Claims and sends as a dispatcher does, but never records it.
    const [row] = await outbox.store.fetchPending(1);
    await mailServer.send({ id: String(row?.id), to: 'ada@example.com' }, AbortSignal.abort());
    expect(await outbox.dispatchAfter(59_999)).toMatchObject(waiting);
    expect(await outbox.dispatchAfter(1)).toMatchObject(dispatched);
    expect(mailServer.calls).toBe(2);
    expect(mailServer.accepted.size).toBe(1);
  });
});
