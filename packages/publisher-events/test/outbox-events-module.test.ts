import * as core from '@postcommit/core';
import {
  composeModules,
  contributeFactory,
  DispatchEvents,
  Lifecycles,
  type Module,
  type OutboxApp,
  OutboxDispatcher,
  OutboxModule,
  OutboxPublisher,
  OutboxStore,
  routePublisher,
} from '@postcommit/core';
import * as events from '@postcommit/publisher-events';
import {
  contributeListeners,
  type Delivery,
  EventBus,
  EventListeners,
  EventsMemoryModule,
  EventsModule,
  type Listener,
  MemoryEventBus,
  OutboxEvent,
  OutboxEventsModule,
  OutboxEventsPublisher,
  onEvent,
} from '@postcommit/publisher-events';
import { OutboxMemoryModule } from '@postcommit/store-memory';
import { describe, expect, test } from 'vitest';
import { onlyRow, paid, refusal } from './events-fixture.js';
import { load } from './types/compile.js';

const modules = { '@postcommit/core': core, '@postcommit/publisher-events': events };

const heardBy = (heard: string[], name: string, topic?: string): Listener<OutboxEvent> =>
  onEvent(OutboxEvent, (event) => heard.push(`${name} ${event.topic}`), { name, topic });

async function dispatchOne(app: OutboxApp, entry = paid): Promise<core.DispatchSummary> {
  await app.get(OutboxStore).enqueue(entry);
  return app.get(OutboxDispatcher).dispatchPending();
}

const lineUps: [string, Module[]][] = [
  ['OutboxEventsModule alone', []],
  ['EventsModule and EventsMemoryModule', [EventsModule, EventsMemoryModule]],
  ['EventsMemoryModule only', [EventsMemoryModule]],
];

describe.each(lineUps)('OutboxEventsModule with %s', (_title, eventModules) => {
  const compose = (listeners: events.ListenerSource[], ...more: Module[]): OutboxApp =>
    composeModules([
      // The tests dispatch themselves, to see what becomes of each row.
      OutboxModule.forRoot({ worker: false }),
      OutboxMemoryModule,
      ...eventModules,
      OutboxEventsModule.forRoot({ listeners }),
      ...more,
    ]);

  test('the worker that app.start() runs publishes to the listeners', async () => {
    const heard: string[] = [];
    const more = { name: 'more', contributes: contributeListeners(heardBy(heard, 'b')) };
    const app = composeModules([
      OutboxModule,
      OutboxMemoryModule,
      ...eventModules,
      OutboxEventsModule.forRoot({ listeners: [heardBy(heard, 'a')] }),
      more,
    ]);
    const settled = new Promise((resolve) => {
      app.get(DispatchEvents).on('batch', resolve);
    });
    await app.get(OutboxStore).enqueue(paid);
    await app.start();
    expect(await settled).toMatchObject({ dispatched: 1 });
    await app.stop();
    expect(heard).toEqual(['a order.paid', 'b order.paid']);
  });

  test('publishes to the listeners without a start, as the command line does', async () => {
    const heard: string[] = [];
    expect(await dispatchOne(compose([heardBy(heard, 'a')]))).toMatchObject({ dispatched: 1 });
    expect(heard).toEqual(['a order.paid']);
  });

  test('calls each listener once per publish, however it was subscribed', async () => {
    const { OrderProjector, seen } = load({ fixture: 'order-projector.ts' }, 'standard', modules);
    const app = compose([OrderProjector as new () => object]);
    await dispatchOne(app);
    await app.start();
    await dispatchOne(app);
    await app.stop();
    await app.start();
    await dispatchOne(app);
    await app.stop();
    expect(seen).toEqual(['projected 7', 'projected 7', 'projected 7']);
  });

  test('after the stop a row fails and waits: it is neither delivered nor dead without listeners', async () => {
    const heard: string[] = [];
    const app = compose([heardBy(heard, 'a')]);
    await app.start();
    await app.stop();
    expect(await dispatchOne(app)).toMatchObject({ failed: 1, dead: 0 });
    expect((await onlyRow(app.get(OutboxStore))).lastError).toContain('the application has stopped');
    await app.start();
    expect(await app.get(OutboxDispatcher).dispatchPending()).toMatchObject({ dispatched: 1 });
    await app.stop();
    expect(heard).toEqual(['a order.paid']);
  });

  test('rejects two listeners of one name, and names both, before anything starts', async () => {
    const steps: string[] = [];
    const lifecycle = { name: 'other', start: () => void steps.push('start'), stop: () => {} };
    const first = onEvent(OutboxEvent, function project() {}, { name: 'order-projector' });
    const second = onEvent(OutboxEvent, function mail() {}, { name: 'order-projector', topic: 'order.*' });
    const app = compose([first], {
      name: 'more',
      contributes: [...contributeListeners(second), contributeFactory(Lifecycles, [], () => lifecycle)],
    });
    const message =
      "two listeners are called 'order-projector': onEvent(OutboxEvent, project) and onEvent(OutboxEvent, mail)";
    await expect(app.start()).rejects.toEqual(refusal('INVALID_CONFIG', message));
    expect(() => app.get(OutboxDispatcher)).toThrow(refusal('INVALID_CONFIG', message));
    expect(steps).toEqual([]);
  });

  test('refuses a class without @OnEvent', async () => {
    class Forgotten {}
    await expect(compose([Forgotten]).start()).rejects.toEqual(refusal('INVALID_CONFIG', 'Forgotten: '));
  });
});

describe('classes that listen', () => {
  test.each(['standard', 'legacy'] as const)(
    'receive what static inject names (%s decorators)',
    async (decorators) => {
      const { Projector, Orders } = load(
        {
          text: `
          import { OnEvent, OutboxEvent } from '@postcommit/publisher-events';
          export class Orders { paid = []; }
          export class Projector {
            static inject = [Orders];
            constructor(orders) { this.orders = orders; }
            @OnEvent(OutboxEvent, { name: 'projector' }) on({ payload }) { this.orders.paid.push(payload.id); }
          }`,
        },
        decorators,
        modules,
      ) as Record<string, new () => { readonly paid: string[] }>;
      if (!Projector || !Orders) throw new Error('not compiled');
      const app = composeModules([
        OutboxModule,
        OutboxMemoryModule,
        OutboxEventsModule.forRoot({ listeners: [Projector] }),
        { name: 'orders', provides: [{ provide: Orders, useClass: Orders }] },
      ]);
      await dispatchOne(app);
      expect(app.get(Orders).paid).toEqual(['7']);
    },
  );

  test('receive what @Inject names; without it the composition is rejected by name', async () => {
    const { OrderProjector, Orders } = load({ fixture: 'injected.ts' }, 'legacy', modules) as Record<
      string,
      new () => object
    >;
    if (!OrderProjector || !Orders) throw new Error('not compiled');
    const paidIds: string[] = [];
    const orders = { setPaid: async (id: string) => void paidIds.push(id) };
    const line = [
      OutboxModule,
      OutboxMemoryModule,
      OutboxEventsModule.forRoot({ listeners: [OrderProjector] }),
    ];
    expect(() => composeModules(line)).toThrow(refusal('MISSING_BINDING', 'Orders is not bound'));
    const app = composeModules(line, { preferences: [{ provide: Orders, useValue: orders }] });
    const [id] = await app.get(OutboxStore).enqueue(paid);
    await app.get(OutboxDispatcher).dispatchPending();
    expect(paidIds).toEqual([id]);
  });

  test('may be shared with the rest of the application', async () => {
    const loaded = load({ fixture: 'injected.ts' }, 'legacy', modules) as Record<string, new () => object>;
    const { OrderProjector, Orders } = loaded;
    if (!OrderProjector || !Orders) throw new Error('not compiled');
    const made: object[] = [];
    class CountedProjector extends OrderProjector {
      constructor(...args: []) {
        super(...args);
        made.push(this);
      }
    }
    const app = composeModules([
      OutboxModule,
      OutboxMemoryModule,
      OutboxEventsModule,
      {
        name: 'shop',
        provides: [
          { provide: Orders, useValue: { setPaid: async () => {} } },
          { provide: CountedProjector, useClass: CountedProjector },
        ],
        contributes: [{ to: EventListeners, useExisting: CountedProjector }],
      },
    ]);
    expect(await dispatchOne(app)).toMatchObject({ dispatched: 1 });
    expect(made).toEqual([app.get(CountedProjector)]);
  });

  test('a plain function is rejected with the advice to wrap it', () => {
    for (const wrong of [() => {}, 'listener', undefined, null])
      expect(() => contributeListeners(wrong as never)).toThrow(
        refusal('INVALID_CONFIG', 'wrap a function in onEvent(…)'),
      );
  });
});

describe('OutboxEventsModule', () => {
  test('accepts onNoListener, and rejects invalid values where they are set', async () => {
    const app = composeModules([
      OutboxModule,
      OutboxMemoryModule,
      OutboxEventsModule.forRoot({ onNoListener: 'complete' }),
    ]);
    expect(await dispatchOne(app)).toMatchObject({ dispatched: 1 });
    expect(() => OutboxEventsModule.forRoot({ onNoListener: 'ignore' as never })).toThrow(
      refusal('INVALID_CONFIG', 'onNoListener'),
    );
  });

  test('without options, a row without listeners is dead', async () => {
    const app = composeModules([OutboxModule, OutboxMemoryModule, OutboxEventsModule]);
    expect(await dispatchOne(app)).toMatchObject({ dead: 1 });
    expect(app.get(OutboxPublisher)).toBe(app.get(OutboxEventsPublisher));
  });

  test('can be one publisher among others', async () => {
    const heard: string[] = [];
    const app = composeModules(
      [OutboxModule, OutboxMemoryModule, OutboxEventsModule.forRoot({ listeners: [heardBy(heard, 'a')] })],
      {
        preferences: [
          {
            provide: OutboxPublisher,
            inject: [OutboxEventsPublisher],
            useFactory: (local: OutboxEventsPublisher) =>
              routePublisher({ 'payment.*': async ({ topic }) => heard.push(`broker ${topic}`), '*': local }),
          },
        ],
      },
    );
    await dispatchOne(app);
    await dispatchOne(app, { ...paid, topic: 'payment.made' });
    expect(heard).toEqual(['a order.paid', 'broker payment.made']);
  });

  test.each([
    ['with EventsModule', [EventsModule]],
    ['without EventsModule', []],
  ])('publishes on the bus that is bound, %s', async (_title, eventModules) => {
    const published: object[] = [];
    class ObservedBus extends MemoryEventBus {
      override publish(event: object): Promise<Delivery> {
        published.push(event);
        return super.publish(event);
      }
    }
    const outboxEvents = OutboxEventsModule.forRoot({ listeners: [heardBy([], 'a')] });
    const app = composeModules([OutboxModule, OutboxMemoryModule, ...eventModules, outboxEvents], {
      preferences: [{ provide: EventBus, useClass: ObservedBus }],
    });
    expect(await dispatchOne(app)).toMatchObject({ dispatched: 1 });
    expect(published).toEqual([expect.any(OutboxEvent)]);
  });
});

describe('EventsModule', () => {
  class OrderShipped {}

  test('names the module to compose if there is no bus', async () => {
    const app = composeModules([EventsModule]);
    const message = 'compose EventsMemoryModule, or add preferences: [{ provide: EventBus';
    await expect(app.start()).rejects.toEqual(refusal('MISSING_BINDING', message));
    const outbox = composeModules([OutboxModule, OutboxMemoryModule, EventsModule, OutboxEventsModule]);
    expect(() => outbox.get(OutboxDispatcher)).toThrow(refusal('MISSING_BINDING', message));
  });

  test('serves events of the application, without an outbox; listeners are subscribed from start to stop', async () => {
    const heard: object[] = [];
    const listener = onEvent(OrderShipped, (event) => heard.push(event), { name: 'shipping' });
    const app = composeModules([
      EventsModule,
      EventsMemoryModule,
      { name: 'shop', contributes: contributeListeners(listener) },
    ]);
    const publish = (): Promise<Delivery> => app.get(EventBus).publish(new OrderShipped());
    await app.start();
    expect(await publish()).toMatchObject({ listeners: 1 });
    await app.stop();
    expect(await publish()).toMatchObject({ listeners: 0 });
    expect(heard).toHaveLength(1);
  });

  test('subscribes the listeners before work starts, and unsubscribes them after it has stopped', async () => {
    const counts: number[] = [];
    const count = async (bus: EventBus): Promise<void> =>
      void counts.push((await bus.publish(new OrderShipped())).listeners);
    const work: Module = {
      name: 'work',
      contributes: [
        contributeFactory(Lifecycles, [EventBus], (bus) => ({
          name: 'work',
          start: () => count(bus),
          stop: () => count(bus),
        })),
        ...contributeListeners(onEvent(OrderShipped, () => {}, { name: 'shipping' })),
      ],
    };
    const app = composeModules([work, EventsModule, EventsMemoryModule]);
    await app.start();
    await app.stop();
    expect(counts).toEqual([1, 1]);
  });

  test('a listener may publish on the bus that it listens to', async () => {
    const heard: object[] = [];
    const app = composeModules([
      OutboxModule,
      OutboxMemoryModule,
      EventsModule,
      EventsMemoryModule,
      OutboxEventsModule,
      {
        name: 'shop',
        contributes: [
          contributeFactory(EventListeners, [EventBus], (bus) =>
            onEvent(OutboxEvent, () => bus.publish(new OrderShipped()), { name: 'relay' }),
          ),
          ...contributeListeners(onEvent(OrderShipped, (event) => heard.push(event), { name: 'shipping' })),
        ],
      },
    ]);
    expect(await dispatchOne(app)).toMatchObject({ dispatched: 1 });
    expect(heard).toEqual([expect.any(OrderShipped)]);
  });
});
