import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';
import { OutboxPublisher } from '../../src/publish/outbox-publisher.js';
import { routePublisher } from '../../src/publish/publisher-routes.js';
import { PublisherRuns } from '../../src/publish/publisher-runs.js';
import { deferred, refusal } from '../outbox-fixture.js';
import { Broker, problemsOf, refused, required, warning } from './broker-fixture.js';

let events = new DispatchEvents();
let runs = new PublisherRuns(events, { redeliveryAfterMs: 45_000 });
let problems = problemsOf(events);

beforeEach(() => {
  vi.useFakeTimers();
  events = new DispatchEvents();
  runs = new PublisherRuns(events, { redeliveryAfterMs: 45_000 });
  problems = problemsOf(events);
});
afterEach(() => {
  expect(vi.getTimerCount(), 'timers left running').toBe(0);
  vi.useRealTimers();
});

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const gotThrough = (): void => {
  events.emit('available', { destination: 'publisher', afterMs: 1 });
};
const batchOf = (dispatched: number): void => {
  events.emit('batch', { fetched: 1, dispatched, failed: 0, dead: 0, fenced: 0 });
};

describe('start', () => {
  test('starts a publisher, then checks it, and does so once', async () => {
    const broker = new Broker();
    expect(runs.ready.has(broker)).toBe(false);
    await Promise.all([runs.start(broker), runs.start(broker)]);
    await runs.start(broker);
    expect(broker.steps).toEqual(['start broker', 'check broker']);
    expect(broker.context).toMatchObject({ redeliveryAfterMs: 45_000 });
    expect(runs.ready.has(broker)).toBe(true);
  });

  test('a publisher of two routes, one of them nested, is started once', async () => {
    const broker = new Broker();
    const other = new Broker('other', broker.steps);
    const publisher = routePublisher({ a: broker, b: other, '*': routePublisher({ c: broker }) });
    await runs.start(publisher);
    expect(broker.steps).toEqual(['start broker', 'start other', 'check broker', 'check other']);
    expect(runs.ready.has(publisher)).toBe(true);
    await runs.stop({});
    expect(broker.steps.slice(4)).toEqual(['stop broker', 'stop other']);
  });

  test('a publisher without a life cycle has nothing to start', async () => {
    const plain = routePublisher({ '*': async () => {} });
    await runs.start(plain);
    expect(runs.ready.has(plain)).toBe(true);
    await runs.stop({});
    expect(runs.health()).toEqual([]);
  });

  test('a publisher that only stops is stopped', async () => {
    const stop = vi.fn(async () => {});
    class OnlyStops extends OutboxPublisher {
      override stop = stop;
      async publish(): Promise<void> {}
    }
    const publisher = new OnlyStops();
    expect(runs.ready.has(publisher)).toBe(false);
    await runs.start(publisher);
    await runs.stop({ graceMs: 5 });
    expect(stop).toHaveBeenCalledExactlyOnceWith({ graceMs: 5 });
  });

  test('that a stop overtakes leaves nothing ready', async () => {
    const broker = new Broker();
    const connected = deferred();
    broker.onStart = () => connected.promise;
    const starting = runs.start(broker);
    await settle();
    const stopping = runs.stop({});
    connected.resolve();
    await Promise.all([starting, stopping]);
    expect(runs.ready.has(broker)).toBe(false);
  });

  test('reports warnings, each with the name of the publisher', async () => {
    const broker = new Broker();
    broker.problems = [warning];
    await runs.start(broker);
    expect(problems).toEqual([{ publisher: 'broker', ...warning }]);
  });

  test.each<[string, Partial<Broker>]>([
    ['a required problem', { problems: [warning, required] }],
    [
      'an error of its own',
      { onStart: () => Promise.reject(new Error('no stream takes order.*; create one')) },
    ],
  ])('%s refuses, closes what was opened, and is tried again by the next start', async (_, wrong) => {
    const broker = new Broker();
    const { problems: none, onStart } = broker;
    Object.assign(broker, wrong);
    await expect(runs.start(broker)).rejects.toThrow('no stream takes order.*');
    expect(broker.steps.at(-1)).toBe('stop broker');
    expect(runs.ready.has(broker)).toBe(false);
    expect(problems).toEqual([]);
    Object.assign(broker, { problems: none, onStart });
    await runs.start(broker);
    expect(runs.ready.has(broker)).toBe(true);
  });

  test('names the publisher and the fix of a required problem', async () => {
    const broker = new Broker();
    broker.problems = [required];
    const text = 'publisher broker: no stream takes order.* (to fix it: create one)';
    await expect(runs.start(broker)).rejects.toThrow(refusal('INVALID_CONFIG', text));
  });

  test('of several waits for all before it fails, so that none starts behind its back', async () => {
    const wrong = new Broker('wrong');
    const slow = new Broker('slow', wrong.steps);
    const connected = deferred();
    wrong.problems = [required];
    slow.onStart = () => connected.promise;
    const starting = runs.start(routePublisher({ a: wrong, b: slow }));
    const ended = vi.fn();
    starting.catch(ended);
    await settle();
    expect(ended).not.toHaveBeenCalled();
    connected.resolve();
    await expect(starting).rejects.toThrow('no stream');
    expect(wrong.steps.at(-1)).toBe('check slow');
    await runs.stop({});
    expect(wrong.steps.at(-1)).toBe('stop slow');
  });

  test('of several that fail has the errors of all', async () => {
    const [one, two] = [new Broker('one'), new Broker('two')];
    for (const broker of [one, two]) broker.problems = [required];
    const error: unknown = await runs.start(routePublisher({ a: one, b: two })).catch((caught) => caught);
    expect(error).toHaveProperty('errors.length', 2);
  });
});

describe('a broker that is away at the start', () => {
  test('does not fail the start, and is reported', async () => {
    const broker = new Broker();
    broker.onStart = () => Promise.reject(refused);
    await runs.start(broker);
    expect(broker.steps).toEqual(['start broker']);
    expect(problems).toMatchObject([
      {
        publisher: 'broker',
        level: 'warning',
        problem: 'not reachable at the start: connect ECONNREFUSED',
      },
    ]);
  });

  test('is checked when its first row gets through, with and without an outage before it', async () => {
    for (const cameBack of [gotThrough, () => batchOf(1)]) {
      const broker = new Broker();
      broker.onStart = () => Promise.reject(refused);
      broker.problems = [warning, required];
      await runs.start(broker);
      problems.length = 0;
      vi.advanceTimersByTime(5_001);
      batchOf(0);
      expect(broker.steps).toEqual(['start broker']);
      cameBack();
      await settle();
      expect(problems).toEqual([warning, required].map((problem) => ({ publisher: 'broker', ...problem })));
      gotThrough();
      await settle();
      expect(broker.steps).toEqual(['start broker', 'check broker']);
    }
  });

  test('stays unchecked while only another one is back', async () => {
    const [back, away] = [new Broker('back'), new Broker('away')];
    for (const broker of [back, away]) broker.onStart = () => Promise.reject(refused);
    away.onCheck = () => Promise.reject(refused);
    away.problems = [required];
    await runs.start(routePublisher({ a: back, b: away }));
    problems.length = 0;
    gotThrough();
    await settle();
    expect(problems).toEqual([]);
    away.onCheck = () => {};
    gotThrough();
    await settle();
    expect(problems).toEqual([{ publisher: 'away', ...required }]);
    expect(back.steps).toEqual(['start back', 'check back']);
  });

  test('is not asked for its settings after every batch of others', async () => {
    const broker = new Broker();
    broker.onStart = () => Promise.reject(refused);
    broker.onCheck = () => Promise.reject(refused);
    await runs.start(broker);
    for (let batch = 0; batch < 10; batch++) {
      batchOf(1);
      await settle();
    }
    expect(broker.steps).toEqual(['start broker', 'check broker']);
    vi.advanceTimersByTime(5_001);
    batchOf(1);
    await settle();
    expect(broker.steps).toHaveLength(3);
  });

  test('and whose check fails later is reported as required', async () => {
    const broker = new Broker();
    broker.onStart = () => Promise.reject(refused);
    broker.onCheck = () => Promise.reject(new Error('no permission'));
    await runs.start(broker);
    gotThrough();
    await settle();
    expect(problems[1]).toMatchObject({ level: 'required', problem: 'no permission' });
  });
});

describe('a start that hangs', () => {
  test('counts as away after ten seconds; when it ends, the settings are checked', async () => {
    const broker = new Broker();
    const connected = deferred();
    broker.onStart = () => connected.promise;
    broker.problems = [warning, required];
    const starting = runs.start(broker);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(runs.ready.has(broker)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await starting;
    expect(problems).toMatchObject([{ level: 'warning', problem: expect.stringContaining('10000 ms') }]);
    connected.resolve();
    await settle();
    expect(problems.slice(1)).toMatchObject([warning, required]);
    gotThrough();
    await settle();
    expect(broker.steps).toEqual(['start broker', 'check broker']);
  });

  test('and fails later is reported: as required, unless the broker is away', async () => {
    for (const error of [new Error('no such exchange'), refused]) {
      const broker = new Broker();
      const connected = deferred();
      broker.onStart = () => connected.promise;
      const starting = runs.start(broker);
      await vi.advanceTimersByTimeAsync(10_000);
      await starting;
      connected.reject(error);
      await settle();
    }
    expect(problems.map(({ level }) => level)).toEqual(['warning', 'required', 'warning']);
    expect(problems[1]).toMatchObject({ problem: 'no such exchange' });
  });
});

describe('stop', () => {
  test('stops with the given grace period, and a start after it starts again', async () => {
    const broker = new Broker();
    const graces: unknown[] = [];
    broker.onStop = (options) => void graces.push(options);
    await runs.start(broker);
    await runs.stop({ graceMs: 7 });
    await runs.stop({ graceMs: 8 });
    expect(graces).toEqual([{ graceMs: 7 }]);
    expect(runs.ready.has(broker)).toBe(false);
    await runs.start(broker);
    expect(broker.steps.slice(2)).toEqual(['stop broker', 'start broker', 'check broker']);
  });

  test('is waited for by a start during it, which another stop still prevents', async () => {
    const broker = new Broker();
    const closed = deferred();
    broker.onStop = () => closed.promise;
    await runs.start(broker);
    const stopping = runs.stop({});
    const starting = runs.start(broker);
    const stoppingAgain = runs.stop({});
    await settle();
    expect(broker.steps.slice(2)).toEqual(['stop broker']);
    closed.resolve();
    await Promise.all([stopping, starting, stoppingAgain]);
    await runs.start(broker);
    await runs.stop({});
    expect(broker.steps.slice(2)).toEqual(['stop broker', 'start broker', 'check broker', 'stop broker']);
  });

  test('that is called again during the first one ends with it', async () => {
    const broker = new Broker();
    const closed = deferred();
    broker.onStop = () => closed.promise;
    await runs.start(broker);
    const ended: string[] = [];
    const first = runs.stop({}).then(() => ended.push('first'));
    const second = runs.stop({}).then(() => ended.push('second'));
    await settle();
    expect(ended).toEqual([]);
    closed.resolve();
    await Promise.all([first, second]);
    expect(broker.steps.filter((step) => step === 'stop broker')).toHaveLength(1);
  });

  test('waits for a start in progress', async () => {
    const broker = new Broker();
    const connected = deferred();
    broker.onStart = () => connected.promise;
    const starting = runs.start(broker);
    await settle();
    const stopping = runs.stop({});
    await settle();
    expect(broker.steps).toEqual(['start broker']);
    connected.resolve();
    await Promise.all([starting, stopping]);
    expect(broker.steps).toEqual(['start broker', 'check broker', 'stop broker']);
  });

  test('does not wait for a start that hangs, which is stopped again if it ends', async () => {
    const broker = new Broker();
    const connected = deferred();
    broker.onStart = () => connected.promise;
    const starting = runs.start(broker);
    await settle();
    const stopping = runs.stop({ graceMs: 50 });
    await vi.advanceTimersByTimeAsync(50);
    await stopping;
    expect(broker.steps).toEqual(['start broker', 'stop broker']);
    connected.resolve();
    await starting;
    await settle();
    expect(broker.steps).toEqual(['start broker', 'stop broker', 'check broker', 'stop broker']);
  });

  test('leaves a publisher alone that was started again while its first start hung', async () => {
    const broker = new Broker();
    const connected = deferred();
    broker.onStart = () => connected.promise;
    const first = runs.start(broker);
    await settle();
    const stopping = runs.stop({ graceMs: 0 });
    await vi.advanceTimersByTimeAsync(0);
    await stopping;
    broker.onStart = () => {};
    await runs.start(broker);
    connected.resolve();
    await first;
    await settle();
    expect(broker.steps.filter((step) => step === 'stop broker')).toHaveLength(1);
  });

  test('ends although a publisher hangs, and says which', async () => {
    const broker = new Broker();
    broker.onStop = () => new Promise(() => {});
    await runs.start(broker);
    const stopping = runs.stop({ graceMs: 100 });
    const expectation = expect(stopping).rejects.toThrow(
      refusal('PUBLISHER_STUCK', 'publisher broker did not stop within 5100 ms'),
    );
    await vi.advanceTimersByTimeAsync(5_100);
    await expectation;
  });

  test('stops the others when one fails, and reports every error', async () => {
    const [one, two, three] = [new Broker('one'), new Broker('two'), new Broker('three')];
    one.onStop = () => Promise.reject(new Error('first'));
    two.onStop = () => Promise.reject(new Error('second'));
    await runs.start(routePublisher({ a: one, b: two, c: three }));
    const error: unknown = await runs.stop({}).catch((caught) => caught);
    expect(error).toHaveProperty('errors', [new Error('first'), new Error('second')]);
    expect(three.steps.at(-1)).toBe('stop three');
  });

  test('ends the reports about a publisher', async () => {
    const broker = new Broker();
    const checked = deferred();
    broker.onStart = () => Promise.reject(refused);
    broker.onCheck = () => checked.promise;
    await runs.start(broker);
    gotThrough();
    await settle();
    await runs.stop({});
    checked.reject(new Error('the connection was closed'));
    await settle();
    gotThrough();
    await settle();
    expect(problems).toHaveLength(1);
    expect(broker.steps).toEqual(['start broker', 'check broker', 'stop broker']);
  });
});

describe('health', () => {
  test('lists the publishers that have started and have something to say', async () => {
    const broker = new Broker();
    expect(runs.health()).toEqual([]);
    await runs.start(routePublisher({ a: broker, b: async () => {} }));
    expect(runs.health()).toEqual([{ name: 'broker', isConnected: true }]);
    await runs.stop({});
    expect(runs.health()).toEqual([]);
  });

  test('survives a publisher that fails to answer', async () => {
    const broker = new Broker();
    broker.health = () => {
      throw new Error('no client');
    };
    await runs.start(broker);
    expect(runs.health()).toEqual([{ name: 'broker', isConnected: false, problem: 'no client' }]);
  });
});
