import {
  DispatchEvents,
  OutboxPublisher,
  type OutboxRow,
  type PublisherHealth,
  type PublisherProblem,
  routePublisher,
} from '@postcommit/core';
import { OutboxModule } from '@postcommit/nestjs';
import { MemoryOutboxStore } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryNest, nestModule, openContext } from './nest-app.js';

const steps: string[] = [];
let problems: PublisherProblem[] = [];

/** A publisher as a provider, with methods and with functions in fields. */
class Broker extends OutboxPublisher {
  override readonly name: string = 'rabbit';

  override async start(): Promise<void> {
    steps.push('start');
  }

  override check = async (): Promise<PublisherProblem[]> => {
    steps.push('check');
    return problems;
  };

  override async stop({ graceMs }: { graceMs?: number }): Promise<void> {
    steps.push(`stop within ${String(graceMs)}`);
  }

  override health(): PublisherHealth {
    return { isConnected: true };
  }

  async publish({ topic }: OutboxRow): Promise<void> {
    steps.push(`publish ${topic}`);
  }
}

beforeEach(() => {
  steps.length = 0;
  problems = [];
});

describe('the publisher of a Nest application', () => {
  it.each([
    ['a class', { provide: Broker, useClass: Broker }],
    ['a factory', { provide: Broker, useFactory: async () => new Broker() }],
  ])('that is the provider of %s starts, is checked and stops with the application', async (_, provider) => {
    const store = new MemoryOutboxStore();
    await store.enqueue({ topic: 'order.paid', payload: 1 });
    const outbox = OutboxModule.forRoot({ store, publisher: Broker, shutdownGraceMs: 2_000 });
    const nest = await openContext({ imports: [outbox], providers: [provider] });
    await vi.waitUntil(() => steps.length === 3);
    await nest.close();
    expect(steps).toEqual(['start', 'check', 'publish order.paid', 'stop within 2000']);
  });

  it('fails the start of the application if it is configured wrong', async () => {
    problems = [{ level: 'required', problem: 'no queue', fix: 'declare it' }];
    const outbox = OutboxModule.forRoot({ store: new MemoryOutboxStore(), publisher: Broker });
    const opening = openContext({ imports: [outbox], providers: [Broker] });
    await expect(opening).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: 'publisher rabbit: no queue (to fix it: declare it)',
    });
    expect(steps).toEqual(['start', 'check', 'stop within 0']);
  });

  it('starts with dispatchPending() where no worker runs, and stops with the application', async () => {
    problems = [{ level: 'warning', problem: 'not durable', fix: 'declare it again' }];
    const nest = await MemoryNest.open([Broker], { publisher: Broker });
    const reported = vi.fn();
    nest.app.get(DispatchEvents).on('publisherProblem', reported);
    await nest.emit({ topic: 'order.paid', payload: 1 });
    expect(steps).toEqual([]);
    await nest.dispatch();
    await nest.dispatch();
    expect(reported).toHaveBeenCalledExactlyOnceWith({ publisher: 'rabbit', ...problems[0] });
    await nest.context.close();
    expect(steps).toEqual(['start', 'check', 'publish order.paid', expect.stringMatching(/^stop/)]);
  });

  it('starts and stops if it is bound by a module, or behind routes', async () => {
    const module = {
      name: 'Broker',
      provides: [{ provide: OutboxPublisher, useFactory: () => routePublisher({ '*': new Broker() }) }],
    };
    const outbox = OutboxModule.forRoot({ store: new MemoryOutboxStore(), modules: [module] });
    const nest = await openContext({ imports: [outbox] });
    await nest.close();
    expect(steps).toEqual(['start', 'check', expect.stringMatching(/^stop/)]);
  });

  it('may have no life cycle', async () => {
    class Plain extends OutboxPublisher {
      async publish(): Promise<void> {}
    }
    const nest = await MemoryNest.open([Plain], { publisher: Plain });
    await nest.emit({ topic: 'order.paid', payload: 1 });
    expect(await nest.dispatch()).toMatchObject({ dispatched: 1 });
  });

  it('is not started in an application for commands', async () => {
    const outbox = OutboxModule.forRoot({ store: new MemoryOutboxStore(), publisher: Broker });
    const app = nestModule({ imports: [outbox], providers: [Broker] });
    const nest = await openContext({ imports: [OutboxModule.forCommands(app)] });
    await nest.close();
    expect(steps).toEqual([]);
  });
});
