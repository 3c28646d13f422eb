import { VirtualClock } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import { OutboxWorker } from '../../src/worker/outbox-worker.js';
import { listen, openOutbox, scripted } from '../outbox-fixture.js';

/** Time can also pass while no timer fires, as when the process is busy or stopped. */
class BlockableClock extends VirtualClock {
  #blockedMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.#blockedMs;
  }

  block(ms: number): void {
    this.#blockedMs += ms;
  }
}

function open() {
  const clock = new BlockableClock();
  const events = new DispatchEvents();
  const { store } = openOutbox();
  const worker = new OutboxWorker(store, scripted(), { events, clock });
  return { clock, worker, blocks: listen(events, 'eventLoopBlocked') };
}

describe('a running worker', () => {
  test('reports each time its event loop was blocked for more than a second', async () => {
    const { clock, worker, blocks } = open();
    worker.start();
    await clock.advance(5_000);
    clock.block(1_001);
    await clock.advance(500);
    clock.block(30_000);
    await clock.advance(5_000);
    expect(blocks.map(({ told }) => told)).toEqual([{ ms: 1_001 }, { ms: 30_000 }]);
    await worker.stop();
  });

  test('does not report shorter pauses, however many', async () => {
    const { clock, worker, blocks } = open();
    worker.start();
    for (let pause = 0; pause < 10; pause++) {
      clock.block(1_000);
      await clock.advance(500);
    }
    expect(blocks).toEqual([]);
    await worker.stop();
  });
});

test('a worker that does not run reports nothing', async () => {
  const { clock, worker, blocks } = open();
  worker.start();
  await worker.stop();
  clock.block(5_000);
  await clock.advance(5_000);
  expect(blocks).toEqual([]);
});
