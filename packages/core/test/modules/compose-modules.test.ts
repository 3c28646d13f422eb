import { describe, expect, test } from 'vitest';
import { composeModules } from '../../src/modules/compose-modules.js';
import { Contributions } from '../../src/modules/contributions.js';
import { Inject } from '../../src/modules/inject.js';
import { type Lifecycle, Lifecycles } from '../../src/modules/lifecycle.js';
import {
  contributeFactory,
  lazy,
  type Module,
  optional,
  type Provider,
  provideFactory,
} from '../../src/modules/module.js';
import { nameToken } from '../../src/modules/token.js';
import { deferred, refusal } from '../outbox-fixture.js';

abstract class Engine {
  abstract readonly name: string;
}
class Diesel extends Engine {
  readonly name = 'diesel';
}
class Electric extends Engine {
  readonly name = 'electric';
}
class Car {
  static readonly inject = [Engine] as const;
  readonly engine: Engine;
  constructor(engine: Engine) {
    this.engine = engine;
  }
}
class Shelf {
  readonly engine: () => Engine;
  constructor(engine: () => Engine) {
    this.engine = engine;
  }
}
class Extras extends Contributions<string> {}

function moduleOf(name: string, ...provides: Provider[]): Module {
  return { name, provides };
}

describe('recipes', () => {
  test('useValue provides the value itself', () => {
    const engine = new Diesel();
    expect(composeModules([moduleOf('m', { provide: Engine, useValue: engine })]).get(Engine)).toBe(engine);
  });

  test('useFactory receives what it injects', () => {
    const app = composeModules([
      moduleOf(
        'm',
        { provide: Engine, useFactory: () => new Diesel() },
        provideFactory(Car, [Engine], (e) => new Car(e)),
      ),
    ]);
    expect(app.get(Car).engine).toBe(app.get(Engine));
  });

  test('useClass receives what its class names, or what the provider injects', () => {
    const engines = moduleOf(
      'engines',
      { provide: Engine, useClass: Diesel },
      { provide: Electric, useClass: Electric },
    );
    expect(
      composeModules([engines, moduleOf('m', { provide: Car, useClass: Car })]).get(Car).engine.name,
    ).toBe('diesel');
    const injected = moduleOf('m', { provide: Car, useClass: Car, inject: [Electric] });
    expect(composeModules([engines, injected]).get(Car).engine.name).toBe('electric');
  });

  test('useClass works with decorated parameters', () => {
    class Decorated {
      readonly engine: unknown;
      constructor(engine: unknown) {
        this.engine = engine;
      }
    }
    Inject(Engine)(Decorated, undefined, 0);
    const app = composeModules([
      moduleOf('m', { provide: Engine, useClass: Diesel }, { provide: Decorated, useClass: Decorated }),
    ]);
    expect(app.get(Decorated).engine).toBe(app.get(Engine));
  });

  test('useExisting provides the same instance under another token', () => {
    const app = composeModules([
      moduleOf('m', { provide: Diesel, useClass: Diesel }, { provide: Engine, useExisting: Diesel }),
    ]);
    expect(app.get(Engine)).toBe(app.get(Diesel));
  });

  test('each instance is created once, when it is first needed', () => {
    let made = 0;
    const app = composeModules([
      moduleOf('m', {
        provide: Engine,
        useFactory: () => {
          made += 1;
          return new Diesel();
        },
      }),
    ]);
    expect(made).toBe(0);
    expect(app.get(Engine)).toBe(app.get(Engine));
    expect(made).toBe(1);
  });

  test('a factory that returns undefined is called once too', () => {
    let made = 0;
    const useFactory = (): unknown => {
      made += 1;
      return undefined;
    };
    const app = composeModules([moduleOf('m', { provide: Engine, useFactory })]);
    expect([app.get(Engine), app.get(Engine)]).toEqual([undefined, undefined]);
    expect(made).toBe(1);
  });

  test('a factory that returns a Promise is rejected with an alternative', () => {
    const app = composeModules([
      moduleOf('garage', { provide: Engine, useFactory: async () => new Diesel() }),
    ]);
    expect(() => app.get(Engine)).toThrow(
      refusal(
        'INVALID_CONFIG',
        'the factory of Engine (module garage) returned a Promise; await it before composing',
      ),
    );
  });

  test('an optional dependency is undefined if nothing binds it', () => {
    class Wagon {
      readonly engine: Engine | undefined;
      constructor(engine: Engine | undefined) {
        this.engine = engine;
      }
    }
    const wagon = moduleOf(
      'm',
      provideFactory(Wagon, [optional(Engine)], (engine) => new Wagon(engine)),
    );
    expect(composeModules([wagon]).get(Wagon).engine).toBeUndefined();
    const engine = moduleOf('e', { provide: Engine, useClass: Diesel });
    expect(composeModules([wagon, engine]).get(Wagon).engine?.name).toBe('diesel');
  });
});

describe('a lazy dependency', () => {
  test('is created when it is needed, and once', () => {
    let made = 0;
    const app = composeModules([
      moduleOf('garage', {
        provide: Engine,
        useFactory: () => {
          made += 1;
          return new Diesel();
        },
      }),
      moduleOf(
        'shop',
        provideFactory(Shelf, [lazy(Engine)], (engine) => new Shelf(engine)),
      ),
    ]);
    const { engine } = app.get(Shelf);
    expect(made).toBe(0);
    expect(engine()).toBe(app.get(Engine));
    expect(made).toBe(1);
  });

  test('does not form a cycle, but must be bound', () => {
    class Hen {
      readonly shelf: () => Shelf;
      constructor(shelf: () => Shelf) {
        this.shelf = shelf;
      }
    }
    const shelf = provideFactory(Shelf, [lazy(Engine)], (engine) => new Shelf(engine));
    expect(() => composeModules([moduleOf('shop', shelf)])).toThrow(refusal('MISSING_BINDING', 'Engine'));
    const app = composeModules([
      moduleOf(
        'farm',
        provideFactory(Hen, [lazy(Shelf)], (lazyShelf) => new Hen(lazyShelf)),
        provideFactory(Shelf, [Hen], () => new Shelf(() => new Diesel())),
      ),
    ]);
    expect(app.get(Hen).shelf()).toBe(app.get(Shelf));
  });
});

test('has returns whether a token is bound', () => {
  const app = composeModules([moduleOf('garage', { provide: Engine, useClass: Diesel })]);
  expect(app.has(Engine)).toBe(true);
  expect(app.has(Shelf)).toBe(false);
  expect(app.has(Lifecycles)).toBe(true);
});

test('start({ only: resource }) does not start the other phases', async () => {
  const seen: string[] = [];
  const part = (name: string, phase: 'resource' | 'work') => ({
    to: Lifecycles,
    useValue: { name, phase, start: () => seen.push(`start ${name}`), stop: () => seen.push(`stop ${name}`) },
  });
  const app = composeModules([
    { name: 'app', contributes: [part('worker', 'work'), part('connection', 'resource')] },
  ]);
  await app.start({ only: 'resource' });
  await app.stop();
  expect(seen).toEqual(['start connection', 'stop connection']);
});

describe('mistakes are rejected at composition, by name', () => {
  test.each([
    [
      { [Symbol.toStringTag]: 'OutboxPgModule', forRoot: () => {} },
      'OutboxPgModule needs options: pass OutboxPgModule.forRoot({ … })',
    ],
    [{ forRoot: () => {} }, 'modules[1] needs options: pass its forRoot({ … })'],
    [class ShopModule {}, 'modules[1] is the class ShopModule, not a module'],
    [{ forRoot() {} }.forRoot, 'modules[1] is the function forRoot, not a module: call it'],
    [undefined, 'modules[1] is undefined: do two files import each other?'],
    [null, 'modules[1] is not a module'],
    ['OutboxModule', 'modules[1] is not a module'],
    [{ provides: [] }, 'modules[1] is not a module'],
    [[moduleOf('nested')], 'modules[1] is a list of modules: spread it'],
  ])('%o is not a module', (given, message) => {
    const modules = [moduleOf('garage'), given as Module];
    expect(() => composeModules(modules)).toThrow(refusal('INVALID_CONFIG', message));
  });

  test('a missing binding names the module that needs it', () => {
    expect(() => composeModules([moduleOf('garage', { provide: Car, useClass: Car })])).toThrow(
      refusal(
        'MISSING_BINDING',
        'Engine is not bound: module garage needs it for Car; compose a module that provides it, or add preferences: [{ provide: Engine, … }]',
      ),
    );
  });

  test('even if only a contribution or an alias needs it', () => {
    const contributing = {
      name: 'shop',
      contributes: [contributeFactory(Extras, [Engine], ({ name }) => name)],
    };
    expect(() => composeModules([contributing])).toThrow(
      refusal('MISSING_BINDING', 'Engine is not bound: module shop needs it for Extras'),
    );
    const alias = moduleOf('alias', { provide: Engine, useExisting: Diesel });
    expect(() => composeModules([alias])).toThrow(
      refusal('MISSING_BINDING', 'Diesel is not bound: module alias'),
    );
  });

  test('a class that does not declare its dependencies', () => {
    class Silent {
      readonly part: unknown;
      constructor(part: unknown) {
        this.part = part;
      }
    }
    expect(() => composeModules([moduleOf('m', { provide: Silent, useClass: Silent })])).toThrow(
      refusal('MISSING_BINDING', 'Silent has 1 constructor parameters'),
    );
  });

  test('get of an unbound token', () => {
    expect(() => composeModules([]).get(Engine)).toThrow(
      refusal('MISSING_BINDING', 'Engine is not bound: app.get() asked for it'),
    );
  });

  test('a doubled binding names both modules', () => {
    const one = moduleOf('one', { provide: Engine, useClass: Diesel });
    const two = moduleOf('two', { provide: Engine, useClass: Electric });
    expect(() => composeModules([one, two])).toThrow(
      refusal('DOUBLED_BINDING', 'Engine is bound twice: by module one and by module two'),
    );
    const preferences = [
      { provide: Engine, useClass: Diesel },
      { provide: Engine, useClass: Electric },
    ];
    expect(() => composeModules([], { preferences })).toThrow(
      refusal('DOUBLED_BINDING', 'Engine is bound twice: by preferences and by preferences'),
    );
  });

  test('a cycle names its path', () => {
    class Hen {}
    class Egg {}
    const farm = moduleOf('farm', { provide: Hen, useFactory: () => new Hen(), inject: [Egg] });
    const shop = moduleOf('shop', { provide: Egg, useFactory: () => new Egg(), inject: [optional(Hen)] });
    expect(() => composeModules([farm, shop])).toThrow(
      refusal(
        'CYCLIC_BINDING',
        'these need each other: Hen (module farm) -> Egg (module shop) -> Hen (module farm)',
      ),
    );
  });

  test('the path of a cycle leaves out what only leads to it', () => {
    const lead = moduleOf('lead', { provide: Car, useClass: Car });
    const loop = moduleOf('loop', { provide: Engine, useExisting: Engine });
    expect(() => composeModules([lead, loop])).toThrow(
      refusal('CYCLIC_BINDING', 'these need each other: Engine (module loop) -> Engine (module loop)'),
    );
  });

  test('a cycle through contributions, or of a token with itself, is one too', () => {
    const pooled: Module = {
      name: 'loop',
      provides: [{ provide: Engine, useFactory: () => new Diesel(), inject: [Extras] }],
      contributes: [contributeFactory(Extras, [Engine], ({ name }) => name)],
    };
    expect(() => composeModules([pooled])).toThrow(
      refusal('CYCLIC_BINDING', 'Engine (module loop) -> Extras (module loop) -> Engine (module loop)'),
    );
    expect(() => composeModules([moduleOf('self', { provide: Engine, useExisting: Engine })])).toThrow(
      refusal('CYCLIC_BINDING', 'Engine (module self) -> Engine (module self)'),
    );
  });

  test('two that share a dependency are not a cycle', () => {
    const shared = moduleOf(
      'm',
      { provide: Engine, useClass: Diesel },
      provideFactory(Car, [Engine, optional(Engine)], (engine) => new Car(engine)),
    );
    expect(composeModules([shared]).get(Car).engine.name).toBe('diesel');
  });
});

describe('preferences and tokens', () => {
  test('a preference takes precedence over a module, whose own dependencies no longer count', () => {
    const needy = moduleOf('needy', { provide: Engine, useFactory: () => new Diesel(), inject: [Car] });
    const app = composeModules([needy], { preferences: [{ provide: Engine, useClass: Electric }] });
    expect(app.get(Engine).name).toBe('electric');
    expect(app.tokens).toEqual([Engine]);
  });

  test('tokens lists what is bound, and get accepts each', () => {
    const app = composeModules([moduleOf('m', { provide: Engine, useClass: Diesel })], {
      preferences: [{ provide: Car, useClass: Car }],
    });
    expect(app.tokens).toEqual([Engine, Car]);
    expect(app.tokens.map((token) => app.get(token))).toEqual([new Diesel(), new Car(new Diesel())]);
  });

  test('a token of another copy of the package is the same token', () => {
    abstract class Ours {}
    abstract class Theirs {}
    for (const token of [Ours, Theirs]) nameToken(token, '@postcommit/test/Copied');
    const value = { copied: true };
    const app = composeModules([moduleOf('m', { provide: Ours, useValue: value })]);
    expect(app.get(Theirs)).toBe(value);
    expect(() =>
      composeModules([
        moduleOf('a', { provide: Ours, useValue: 1 }),
        moduleOf('b', { provide: Theirs, useValue: 2 }),
      ]),
    ).toThrow(refusal('DOUBLED_BINDING', 'by module a and by module b'));
  });

  test('a subclass of a named token is another token', () => {
    class Base {}
    nameToken(Base, '@postcommit/test/ComposedBase');
    class Derived extends Base {}
    const app = composeModules([moduleOf('m', { provide: Base, useClass: Base })]);
    expect(app.get(Base)).toBeInstanceOf(Base);
    expect(() => app.get(Derived)).toThrow(refusal('MISSING_BINDING', 'Derived is not bound'));
  });
});

describe('contributions', () => {
  test('are empty, never missing', () => {
    expect(composeModules([]).get(Extras).items).toEqual([]);
  });

  test('hold contributions in the order of the modules, each created once', () => {
    let made = 0;
    const first: Module = { name: 'first', contributes: [{ to: Extras, useValue: 'radio' }] };
    const second: Module = {
      name: 'second',
      contributes: [
        contributeFactory(Extras, [optional(Engine)], (engine) => {
          made += 1;
          return engine ? 'battery' : 'nothing';
        }),
        { to: Extras, useValue: 'roof' },
      ],
    };
    const app = composeModules([second, moduleOf('m', { provide: Engine, useClass: Electric }), first]);
    expect([...app.get(Extras)]).toEqual(['battery', 'roof', 'radio']);
    expect(app.get(Extras)).toBe(app.get(Extras));
    expect(made).toBe(1);
  });

  test('can be injected', () => {
    const counter = moduleOf(
      'm',
      provideFactory(Engine, [Extras], ({ items }) => ({ name: items.join() })),
    );
    expect(composeModules([counter]).get(Engine).name).toBe('');
    const extras: Module = { name: 'extras', contributes: [{ to: Extras, useValue: 'radio' }] };
    expect(composeModules([counter, extras]).get(Engine).name).toBe('radio');
  });
});

describe('start and stop', () => {
  function recorder(): { steps: string[]; lifecycle(name: string, faults?: Partial<Lifecycle>): Module } {
    const steps: string[] = [];
    return {
      steps,
      lifecycle: (name, faults = {}) => {
        const useValue: Lifecycle = {
          name,
          start: () => void steps.push(`start ${name}`),
          stop: ({ graceMs }) => void steps.push(`stop ${name}${graceMs === undefined ? '' : ` ${graceMs}`}`),
          ...faults,
        };
        return { name, contributes: [{ to: Lifecycles, useValue }] };
      },
    };
  }
  const failing = (message: string) => (): never => {
    throw new Error(message);
  };

  test('start in the order of the modules, stop in reverse with the options', async () => {
    const { steps, lifecycle } = recorder();
    const app = composeModules([lifecycle('a'), lifecycle('b')]);
    await app.start();
    await app.stop({ graceMs: 5 });
    expect(steps).toEqual(['start a', 'start b', 'stop b 5', 'stop a 5']);
  });

  test('each start waits for the one before', async () => {
    const { steps, lifecycle } = recorder();
    const ready = deferred();
    const app = composeModules([lifecycle('a', { start: () => ready.promise }), lifecycle('b')]);
    const starting = app.start();
    await Promise.resolve();
    expect(steps).toEqual([]);
    ready.resolve();
    await starting;
    expect(steps).toEqual(['start b']);
  });

  test('starting twice starts once; after a stop it starts again', async () => {
    const { steps, lifecycle } = recorder();
    const app = composeModules([lifecycle('a')]);
    await Promise.all([app.start(), app.start()]);
    await app.start();
    expect(steps).toEqual(['start a']);
    await app.stop();
    await app.start();
    expect(steps).toEqual(['start a', 'stop a', 'start a']);
  });

  test('stop without start, and a second stop, do nothing', async () => {
    const { steps, lifecycle } = recorder();
    const app = composeModules([lifecycle('a')]);
    await app.stop();
    await app.start();
    await app.stop();
    await app.stop();
    expect(steps).toEqual(['start a', 'stop a']);
  });

  test('a stop during the start waits for it and stops everything', async () => {
    const { steps, lifecycle } = recorder();
    const ready = deferred();
    const app = composeModules([lifecycle('a'), lifecycle('b', { start: () => ready.promise })]);
    const starting = app.start();
    const stopping = app.stop();
    ready.resolve();
    await Promise.all([starting, stopping]);
    expect(steps).toEqual(['start a', 'stop b', 'stop a']);
  });

  test('a failed start stops what has started, and can be retried', async () => {
    const { steps, lifecycle } = recorder();
    let broken = true;
    const start = (): void => {
      if (broken) throw new Error('port is taken');
      steps.push('start c');
    };
    const app = composeModules([lifecycle('a'), lifecycle('b'), lifecycle('c', { start }), lifecycle('d')]);
    await expect(app.start()).rejects.toThrow('port is taken');
    expect(steps).toEqual(['start a', 'start b', 'stop b', 'stop a']);
    await app.stop();
    expect(steps).toHaveLength(4);
    broken = false;
    await app.start();
    expect(steps.slice(4)).toEqual(['start a', 'start b', 'start c', 'start d']);
  });

  test('a start that failed at the first part can be retried too', async () => {
    const { steps, lifecycle } = recorder();
    let broken = true;
    const start = (): void => {
      if (broken) throw new Error('port is taken');
      steps.push('start a');
    };
    const app = composeModules([lifecycle('a', { start })]);
    await expect(app.start()).rejects.toThrow('port is taken');
    broken = false;
    await app.start();
    expect(steps).toEqual(['start a']);
  });

  test('a failing stop does not hide a failed start', async () => {
    const { lifecycle } = recorder();
    const app = composeModules([
      lifecycle('a', { stop: failing('stop of a') }),
      lifecycle('b', { start: failing('port is taken') }),
    ]);
    const error: unknown = await app.start().catch((caught) => caught);
    const all = error instanceof AggregateError ? error.errors : [error];
    expect(all.map(String)).toContain('Error: port is taken');
  });

  test('a start that failed because a part could not be created can be retried', async () => {
    let broken = true;
    const flaky: Module = {
      name: 'flaky',
      contributes: [
        {
          to: Lifecycles,
          useFactory: (): Lifecycle => {
            if (broken) throw new Error('no settings yet');
            return { name: 'flaky', start: () => {}, stop: () => {} };
          },
        },
      ],
    };
    const app = composeModules([flaky]);
    await expect(app.start()).rejects.toThrow('no settings yet');
    broken = false;
    await expect(app.start()).resolves.toBeUndefined();
  });

  test('one failing stop does not keep the others from stopping, and is rethrown', async () => {
    const { steps, lifecycle } = recorder();
    const app = composeModules([lifecycle('a'), lifecycle('b', { stop: failing('stuck') }), lifecycle('c')]);
    await app.start();
    await expect(app.stop()).rejects.toThrow('stuck');
    expect(steps.slice(-2)).toEqual(['stop c', 'stop a']);
  });

  test('several failing stops are all reported', async () => {
    const { lifecycle } = recorder();
    const app = composeModules([
      lifecycle('a', { stop: () => Promise.reject(new Error('first')) }),
      lifecycle('b', { stop: failing('second') }),
    ]);
    await app.start();
    const error: unknown = await app.stop().catch((caught) => caught);
    expect(error).toBeInstanceOf(AggregateError);
    expect((error as AggregateError).errors.map(String)).toEqual(['Error: second', 'Error: first']);
  });
});
