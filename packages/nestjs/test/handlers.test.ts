import { Controller, Inject, Injectable, type Provider, Scope } from '@nestjs/common';
import { type OutboxRow, PermanentError } from '@postcommit/core';
import { OnOutboxEvent, type OutboxEventContext } from '@postcommit/nestjs';
import { describe, expect, it } from 'vitest';
import { LogLines, MemoryNest, nestModule } from './nest-app.js';

class OrderCreatedEvent {
  static readonly eventType = 'order.created';

  constructor(
    readonly orderId: string,
    readonly total: number,
  ) {}
}

class OrderPaidEvent {
  static readonly eventType = 'order.paid';

  constructor(readonly orderId: string) {}
}

/** What handlers heard, by their names. */
class Heard {
  readonly calls: [handler: string, payload: unknown][] = [];
}

@Injectable()
class Projector {
  constructor(@Inject(Heard) private readonly heard: Heard) {}

  @OnOutboxEvent(OrderCreatedEvent)
  created(event: OrderCreatedEvent): void {
    this.heard.calls.push(['created', event]);
  }

  @OnOutboxEvent([OrderCreatedEvent, OrderPaidEvent])
  async both(event: OrderCreatedEvent | OrderPaidEvent): Promise<void> {
    this.heard.calls.push(['both', event.orderId]);
  }

  @OnOutboxEvent('order.*')
  any(payload: unknown, { topic }: OutboxEventContext): void {
    this.heard.calls.push([`any ${topic}`, payload]);
  }
}

async function open(...providers: Provider[]): Promise<MemoryNest> {
  return MemoryNest.open([Heard, ...providers]);
}

const callsIn = (nest: MemoryNest): Heard['calls'] => nest.context.get(Heard).calls;

describe('a method with @OnOutboxEvent', () => {
  it('handles the events of a class, of several classes, or of a pattern', async () => {
    const nest = await open(Projector);
    await nest.emit(new OrderCreatedEvent('o1', 12));
    await nest.emit(new OrderPaidEvent('o1'));
    await nest.emit({ topic: 'order.shipped', payload: 7 });
    expect(await nest.dispatch()).toMatchObject({ fetched: 3, dispatched: 3 });
    expect(callsIn(nest)).toEqual([
      ['created', { orderId: 'o1', total: 12 }],
      ['both', 'o1'],
      ['any order.created', { orderId: 'o1', total: 12 }],
      ['both', 'o1'],
      ['any order.paid', { orderId: 'o1' }],
      ['any order.shipped', 7],
    ]);
  });

  it('is called once for an event, even if several of its decorators match', async () => {
    class Auditor {
      constructor(private readonly heard: Heard) {}

      @OnOutboxEvent('order.created')
      @OnOutboxEvent(['order.*', '*'])
      audit(): void {
        this.heard.calls.push(['audit', undefined]);
      }
    }
    const nest = await open({
      provide: Auditor,
      inject: [Heard],
      useFactory: (heard: Heard) => new Auditor(heard),
    });
    await nest.emit(new OrderCreatedEvent('o1', 1));
    await nest.emit({ topic: 'invoice', payload: 1 });
    await nest.dispatch();
    expect(callsIn(nest)).toHaveLength(2);
  });

  it('receives id, attempt, headers, key and a signal beside the payload', async () => {
    const contexts: OutboxEventContext[] = [];
    class Recorder {
      @OnOutboxEvent(OrderPaidEvent)
      record(_event: OrderPaidEvent, context: OutboxEventContext): void {
        contexts.push(context);
        if (context.attempt === 1) throw new Error('once');
      }
    }
    const nest = await open(Recorder);
    const id = await nest.emit(new OrderPaidEvent('o1'), { key: 'o1', headers: { tenant: 'acme' } });
    await nest.dispatch();
    await nest.clock.advance(1_000);
    await nest.dispatch();
    const told = { id, topic: 'order.paid', headers: { tenant: 'acme' }, key: 'o1' };
    expect(contexts).toMatchObject([
      { ...told, attempt: 1 },
      { ...told, attempt: 2 },
    ]);
    expect(contexts[0]?.signal).toBeInstanceOf(AbortSignal);
  });

  it('may be on a controller, in a parent class, and under another token of the same instance', async () => {
    class Parent {
      @OnOutboxEvent('a')
      @OnOutboxEvent('b')
      on(_payload: unknown, { topic }: OutboxEventContext): void {
        calls.push(`parent ${topic}`);
      }
    }
    class Child extends Parent {
      @OnOutboxEvent('b')
      override on(_payload: unknown, { topic }: OutboxEventContext): void {
        calls.push(`child ${topic}`);
      }

      @OnOutboxEvent('c')
      more(): void {
        calls.push('child more');
      }
    }
    class Heir extends Parent {}
    @Controller()
    class Hooks {
      @OnOutboxEvent('c')
      on(): void {
        calls.push('controller');
      }
    }
    const calls: string[] = [];
    const nest = await MemoryNest.open([Child, Heir, { provide: 'alias', useExisting: Child }], {}, false, {
      controllers: [Hooks],
    });
    for (const topic of ['a', 'b', 'c']) await nest.emit({ topic, payload: 1 });
    await nest.dispatch();
    expect(calls).toEqual(['parent a', 'child b', 'parent b', 'child more', 'controller']);
  });
});

describe('an event', () => {
  it('fails with the error of its handler, and all handlers run again at the next attempt', async () => {
    const calls: string[] = [];
    class Two {
      @OnOutboxEvent('order.paid')
      fine(): void {
        calls.push('fine');
      }

      @OnOutboxEvent('order.paid')
      async mail(): Promise<void> {
        calls.push('mail');
        if (calls.length <= 2) throw new Error('smtp is down');
      }
    }
    const nest = await open(Two);
    await nest.emit(new OrderPaidEvent('o1'));
    expect(await nest.dispatch()).toMatchObject({ failed: 1 });
    expect(await nest.row()).toMatchObject({
      attempts: 1,
      lastError: '1 of 2 listeners failed: Two.mail: smtp is down',
    });
    await nest.clock.advance(1_000);
    expect(await nest.dispatch()).toMatchObject({ dispatched: 1 });
    expect(calls).toEqual(['fine', 'mail', 'fine', 'mail']);
  });

  it('is dead at once if its handler throws a permanent error', async () => {
    class Refuser {
      @OnOutboxEvent('order.paid')
      on(): void {
        throw new PermanentError('unknown order');
      }
    }
    const nest = await open(Refuser);
    await nest.emit(new OrderPaidEvent('o1'));
    expect(await nest.dispatch()).toMatchObject({ dead: 1 });
    expect(await nest.row()).toMatchObject({ deadReason: 'permanent' });
  });

  it('without a handler is dead at once, with an error that names its type', async () => {
    const nest = await open(Projector);
    await nest.emit({ topic: 'invoice.sent', payload: 1 });
    expect(await nest.dispatch()).toMatchObject({ dead: 1 });
    expect(await nest.row()).toMatchObject({
      deadReason: 'no-listener',
      lastError: expect.stringContaining("no handler for event type 'invoice.sent'"),
    } satisfies Partial<OutboxRow>);
  });
});

describe('an event without a handler, with onNoListener', () => {
  const unknown = { topic: 'invoice.sent', payload: 'secret' };

  it('release: is retried after a delay, and is dead after maxRetries', async () => {
    const log = new LogLines();
    const nest = await MemoryNest.open([], { onNoListener: 'release', retry: { maxRetries: 2 } }, log);
    const id = await nest.emit(unknown);
    expect(await nest.dispatch()).toMatchObject({ failed: 1, dead: 0 });
    expect(log.lines).toContain(
      `warn event ${id} of type "invoice.sent" failed, next try in 5000 ms: ` +
        `"no handler for event type 'invoice.sent' in this process; released for one with @OnOutboxEvent('invoice.sent')"`,
    );
    await nest.clock.advance(5_000);
    expect(await nest.dispatch()).toMatchObject({ dead: 1 });
    expect(await nest.row()).toMatchObject({ deadReason: 'no-listener', attempts: 2 });
    expect(log.lines.join(), 'never a payload').not.toContain('secret');
  });

  it('complete: is SENT', async () => {
    const nest = await MemoryNest.open([], { onNoListener: 'complete' });
    await nest.emit(unknown);
    expect(await nest.dispatch()).toMatchObject({ dispatched: 1 });
  });

  it.each([
    [
      { onNoListener: 'ignore' as never },
      "onNoListener must be 'dead', 'release' or 'complete', not \"ignore\"",
    ],
    [{ onNoListener: 'release' as const, transport: async () => {} }, 'onNoListener is for @OnOutboxEvent'],
  ])('%o is refused', async (options, message) => {
    await expect(MemoryNest.open([], options)).rejects.toThrow(message);
  });
});

describe('the start rejects a handler', () => {
  class Handler {
    @OnOutboxEvent('order.paid')
    on(): void {}
  }

  it('in a request-scoped provider', async () => {
    await expect(open({ provide: Handler, useClass: Handler, scope: Scope.REQUEST })).rejects.toThrow(
      'Handler.on: Handler is request-scoped',
    );
  });

  it('in a request-scoped provider that a factory makes', async () => {
    const provider = { provide: Handler, useFactory: () => new Handler(), scope: Scope.REQUEST };
    await expect(open(provider)).rejects.toThrow('Handler.on: Handler is request-scoped');
  });

  it('in a provider that depends on a request-scoped one', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Tenant {}
    @Injectable()
    class TenantMailer {
      constructor(@Inject(Tenant) readonly tenant: Tenant) {}

      @OnOutboxEvent('order.paid')
      on(): void {}
    }
    await expect(open(Tenant, TenantMailer)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('TenantMailer.on: TenantMailer is request-scoped, or depends on'),
    });
  });

  it('in a transient provider', async () => {
    await expect(open({ provide: Handler, useClass: Handler, scope: Scope.TRANSIENT })).rejects.toThrow(
      'Handler is transient',
    );
  });

  it('of a class that two modules provide', async () => {
    const other = nestModule({ providers: [Handler] }, 'BillingModule');
    await expect(MemoryNest.open([Handler], {}, false, { imports: [other] })).rejects.toThrow(
      /Handler handles events and exists twice, in (AppModule and BillingModule|BillingModule and AppModule)/,
    );
  });

  it('that would never be called because of a configured publisher', async () => {
    await expect(MemoryNest.open([Handler], { transport: async () => {} })).rejects.toThrow(
      'Handler.on would never be called',
    );
  });
});

describe('@OnOutboxEvent rejects, where it is used,', () => {
  const on = OnOutboxEvent as unknown as (selector: unknown) => (...args: unknown[]) => void;
  const method = { value: () => {} };

  it.each([
    ['a class without eventType', class Plain {}, 'the class Plain has no static eventType'],
    [
      'an eventType that is a pattern',
      class Any {
        static eventType = 'a.*';
        readonly field = 1;
      },
      "without '*'",
    ],
    ['nothing', undefined, 'got undefined'],
    ['an empty list', [], 'the list of events is empty'],
  ])('%s', (_what, selector, message) => {
    expect(() => on(selector)({}, 'on', method)).toThrow(message);
  });

  it('a static method, a property, and standard decorators', () => {
    expect(() => on('a')(class {}, 'on', method)).toThrow('@OnOutboxEvent on on: it belongs on a method');
    expect(() => on('a')({}, 'on', undefined)).toThrow('it belongs on a method');
    expect(() => on('a')(() => {}, { kind: 'method', name: 'on' })).toThrow('experimentalDecorators');
  });
});
