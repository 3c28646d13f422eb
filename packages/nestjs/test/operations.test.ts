import { OutboxCliModule, registerOutboxCommands } from '@postcommit/cli';
import { DispatchEvents, OutboxDispatcher, OutboxPauses, OutboxStore } from '@postcommit/core';
import {
  OnOutboxEvent,
  OUTBOX_APP,
  OutboxEmitter,
  OutboxHealthIndicator,
  OutboxModule,
} from '@postcommit/nestjs';
import { OutboxSchedulerModule, SchedulerCronerModule } from '@postcommit/scheduler';
import { MemoryOutboxStore, OutboxMemoryModule } from '@postcommit/store-memory';
import { OutboxTelemetryModule } from '@postcommit/telemetry';
import { Command } from 'commander';
import { describe, expect, it, vi } from 'vitest';
import { useOpenTelemetry } from '../../telemetry/test/use-opentelemetry.js';
import { LogLines, MemoryNest, openContext } from './nest-app.js';

class Handler {
  @OnOutboxEvent('order.paid')
  on(): void {}
}

class Failing {
  @OnOutboxEvent('*')
  on(): void {
    throw new Error('down\nforged line');
  }
}

describe('the log of the application', () => {
  it('warns of a stuck event that is taken over', async () => {
    const log = new LogLines();
    const nest = await MemoryNest.open([Handler], {}, log);
    const id = await nest.emit({ topic: 'order.paid', payload: { card: '4111' } });
    await nest.store.fetchPending(1);
    await nest.clock.advance(300_001);
    expect(await nest.dispatch()).toMatchObject({ dispatched: 1 });
    const warnings = log.lines.filter((line) => line.startsWith('warn'));
    expect(warnings).toEqual([
      `warn took over event ${id} of type "order.paid", stuck in PROCESSING: its process died or stalled`,
    ]);
    expect(log.lines.join()).not.toContain('4111');
  });

  it('has one line for each failure and for the last one, whatever they contain', async () => {
    const log = new LogLines();
    const nest = await MemoryNest.open([Failing], { retry: { maxRetries: 2, initialDelay: 0 } }, log);
    const id = await nest.emit({ topic: 'a\nb', payload: 1 });
    await nest.dispatch();
    await nest.dispatch();
    const error = '"1 of 1 listeners failed: Failing.on: down\\nforged line"';
    expect(log.lines).toContain(`warn event ${id} of type "a\\nb" failed, next try in 0 ms: ${error}`);
    expect(log.lines).toContain(`error event ${id} of type "a\\nb" is FAILED (exhausted): ${error}`);
  });

  it('masks secrets in the errors of handlers and of the store', async () => {
    class Leaking {
      @OnOutboxEvent('order.paid')
      on(): void {
        throw new Error('401 for api_key=hunter2', {
          cause: new Error('sent "Authorization: Bearer hunter2"'),
        });
      }
    }
    const log = new LogLines();
    const nest = await MemoryNest.open([Leaking], { retry: { maxRetries: 1, initialDelay: 0 } }, log);
    await nest.emit({ topic: 'order.paid', payload: 1 });
    await nest.dispatch();
    const error = new Error('host=db password=hunter2');
    const events = nest.app.get(DispatchEvents);
    events.emit('trouble', { error, retryInMs: 1 });
    events.emit('storeProblem', { error });
    events.emit('wakeup', { isListening: false, pollIntervalMs: 1_000, error });
    events.emit('listenerFailed', { event: 'dead', error });
    events.emit('unavailable', { destination: 'mail', error, nextTryInMs: 1 });
    expect(log.lines.join('\n')).not.toContain('hunter2');
    expect(log.lines.filter((line) => line.includes('***'))).toHaveLength(6);
  });

  it('reports trouble with the table and its end, lost claims, and start and stop', async () => {
    const log = new LogLines();
    const nest = await MemoryNest.open([], {}, log);
    const events = nest.app.get(DispatchEvents);
    events.emit('started', {});
    events.emit('trouble', { error: new Error('no route'), retryInMs: 100 });
    events.emit('recovered', { afterMs: 200 });
    events.emit('fenced', { ids: ['a', 'b'] });
    events.emit('backlog', { pending: 9, due: 9, oldestPendingAgeMs: 1, threshold: 5 });
    events.emit('wakeup', { isListening: false, pollIntervalMs: 1_000 });
    events.emit('wakeup', { isListening: false, pollIntervalMs: 1_000, error: new Error('pooler') });
    events.emit('eventLoopBlocked', { ms: 1_500 });
    events.emit('stopped', { abandoned: ['a'] });
    expect(log.lines.filter((line) => !/InstanceLoader|dependencies|Nest/.test(line))).toEqual([
      'log outbox worker started',
      `error the outbox can't reach its table, retrying in 100 ms: "no route"`,
      'log the outbox can reach its table again after 200 ms',
      'warn outcomes came too late, another process has taken these events over: a, b',
      'warn 9 events are PENDING (threshold 5)',
      'log polling every 1000 ms; enqueues of other processes wait for the next poll',
      `warn polling every 1000 ms, because listening for enqueues failed: "pooler"`,
      'warn the event loop was blocked for 1500 ms, so nothing was published',
      'warn outbox worker stopped with unfinished events, left to another process: a',
    ]);
  });
});

describe('OutboxHealthIndicator', () => {
  class Broken extends MemoryOutboxStore {
    override backlog(): Promise<never> {
      return Promise.reject(new Error('no route to host'));
    }

    override fetchPending(): Promise<never> {
      return Promise.reject(new Error('no route to host'));
    }
  }

  const indicatorOf = async (
    options: Parameters<typeof OutboxModule.forRoot>[0],
  ): Promise<OutboxHealthIndicator> =>
    (await openContext({ imports: [OutboxModule.forRoot(options)] })).get(OutboxHealthIndicator);

  it('is up while the worker runs, in the format of terminus', async () => {
    const indicator = await indicatorOf({ store: new MemoryOutboxStore() });
    expect(await indicator.isHealthy()).toMatchObject({ outbox: { status: 'up', rowsInFlight: 0 } });
    expect(Object.keys(await indicator.isHealthy('messages'))).toEqual(['messages']);
  });

  it('is down if the table does not answer, whether or not this instance polls', async () => {
    for (const enabled of [true, false]) {
      const indicator = await indicatorOf({ store: new Broken(), polling: { enabled } });
      expect(await indicator.isHealthy()).toMatchObject({
        outbox: { status: 'down', error: 'no route to host' },
      });
    }
  });

  it('shows the destinations that are away, and stays up: a restart would not help', async () => {
    const store = new MemoryOutboxStore();
    await store.enqueue({ topic: 'order.paid', payload: 1 });
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const publisher = (): Promise<void> => Promise.reject(refused);
    const nest = await openContext({ imports: [OutboxModule.forRoot({ store, publisher })] });
    const indicator = nest.get(OutboxHealthIndicator);
    await vi.waitFor(async () =>
      expect(await indicator.isHealthy()).toMatchObject({
        outbox: {
          status: 'up',
          outages: [{ destination: 'publisher', error: 'connect ECONNREFUSED', sinceMs: expect.any(Number) }],
        },
      }),
    );
  });

  it('shows the topics that are paused', async () => {
    const nest = await openContext({ imports: [OutboxModule.forRoot({ store: OutboxMemoryModule })] });
    const indicator = nest.get(OutboxHealthIndicator);
    expect((await indicator.isHealthy()).outbox).not.toHaveProperty('pausedTopics');
    await nest.get(OutboxPauses).pause('order.paid');
    const emitted = nest.get(OutboxStore).enqueue({ topic: 'order.paid', payload: 1 });
    await vi.waitFor(async () =>
      expect(await indicator.isHealthy()).toMatchObject({
        outbox: { status: 'up', pausedTopics: ['order.paid'] },
      }),
    );
    await emitted;
  });

  it('is up if this instance only emits, or a scheduler drives the dispatcher', async () => {
    const store = new MemoryOutboxStore();
    expect(await (await indicatorOf({ store, polling: { enabled: false } })).isHealthy()).toMatchObject({
      outbox: { status: 'up' },
    });
    const modules = [SchedulerCronerModule, OutboxSchedulerModule.forRoot({ schedule: '0 0 1 1 *' })];
    expect(await (await indicatorOf({ store, modules })).isHealthy()).toMatchObject({
      outbox: { status: 'up' },
    });
  });

  it('is down once the application has stopped', async () => {
    const nest = await openContext({ imports: [OutboxModule.forRoot({ store: new MemoryOutboxStore() })] });
    const indicator = nest.get(OutboxHealthIndicator);
    await nest.close();
    expect(await indicator.isHealthy()).toMatchObject({ outbox: { status: 'down' } });
  });

  it('is down if an event has been due for too long', async () => {
    const nest = await MemoryNest.open([]);
    await nest.emit({ topic: 'a', payload: 1 });
    await nest.clock.advance(60_000);
    const indicator = nest.context.get(OutboxHealthIndicator);
    expect(await indicator.isHealthy('outbox', { maxOldestPendingAgeMs: 59_999 })).toMatchObject({
      outbox: { status: 'down', oldestPendingAgeMs: 60_000 },
    });
    expect(await indicator.isHealthy('outbox', { maxOldestPendingAgeMs: 60_000 })).toMatchObject({
      outbox: { status: 'up' },
    });
  });
});

describe('the outbox:* commands', () => {
  it('run on the composed outbox, and dispatch to the handlers', async () => {
    const nest = await MemoryNest.open([Handler], { modules: [OutboxCliModule] });
    await nest.emit({ topic: 'order.paid', payload: 1 });
    const lines: string[] = [];
    const run = async (...args: string[]): Promise<void> => {
      const program = new Command();
      const host = {
        stdout: { write: (text: string) => lines.push(text) },
        stderr: { write: (text: string) => lines.push(text) },
        setExitCode: () => {},
        exit: () => {
          throw new Error('exited');
        },
      };
      registerOutboxCommands(program, nest.context.get(OUTBOX_APP), { managesResources: false, host });
      await program.parseAsync(args, { from: 'user' });
    };
    await run('outbox:dispatch');
    await run('outbox:stats');
    expect(lines).toEqual([
      'outbox:dispatch fetched=1 dispatched=1 failed=0 dead=0\n',
      'outbox:stats pending=0 dispatched=1 dead=0 total=1\n',
    ]);
  });
});

describe('OpenTelemetry', () => {
  const telemetry = useOpenTelemetry();

  it('traces emit, dispatch and handling if the module is added', async () => {
    const nest = await openContext({
      imports: [
        OutboxModule.forRoot({
          store: OutboxMemoryModule,
          modules: [OutboxTelemetryModule],
          polling: { enabled: false },
        }),
      ],
      providers: [Handler],
    });
    const store = nest.get(MemoryOutboxStore);
    const emitting = await telemetry.inTrace(() =>
      store.transaction((tx) => nest.get(OutboxEmitter).emit(tx, { topic: 'order.paid', payload: 1 })),
    );
    await nest.get(OutboxDispatcher).dispatchPending();
    expect(telemetry.span('outbox enqueue').spanContext().traceId).toBe(emitting.traceId);
    expect(telemetry.span('outbox dispatch').attributes).toMatchObject({ 'outbox.dispatched': 1 });
    expect(telemetry.span('outbox publish').links[0]?.context.traceId).toBe(emitting.traceId);
  });
});
