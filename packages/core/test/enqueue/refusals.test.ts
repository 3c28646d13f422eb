import {
  composeModules,
  EnqueuePipeline,
  Lifecycles,
  OutboxInterceptors,
  OutboxModule,
} from '@postcommit/core';
import { backoffDelayMs } from '@postcommit/core/internal';
import { expect, test } from 'vitest';

test.each([Number.NaN, 0, -1, 1.5])('maxPayloadBytes %s is rejected where it is set', (maxPayloadBytes) => {
  const refused = expect.objectContaining({ code: 'INVALID_CONFIG' });
  expect(() => new EnqueuePipeline({ maxPayloadBytes })).toThrow(refused);
  expect(() => OutboxModule.forRoot({ maxPayloadBytes })).toThrow(refused);
});

test('a fixed delay longer than the default cap is used in full', () => {
  const twoDays = 2 * 86_400_000;
  expect(backoffDelayMs({ type: 'fixed', delayMs: twoDays }, 1, () => 0)).toBe(twoDays);
});

test('a second stop during the first waits for it', async () => {
  let finish: () => void = () => {};
  const stopped = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const slow = { name: 'slow', start: () => {}, stop: () => stopped };
  const app = composeModules([{ name: 'slow', contributes: [{ to: Lifecycles, useValue: slow }] }]);
  await app.start();
  const steps: string[] = [];
  const both = Promise.all([
    app.stop().then(() => steps.push('first')),
    app.stop().then(() => steps.push('second')),
  ]);
  await Promise.resolve();
  expect(steps).toEqual([]);
  finish();
  await both;
  expect(steps).toEqual(['first', 'second']);
});

test('a list of contributions can’t be bound, only contributed to', () => {
  const module = {
    name: 'wrong',
    provides: [{ provide: OutboxInterceptors, useValue: new OutboxInterceptors([]) }],
  };
  expect(() => composeModules([module])).toThrow(
    /module wrong binds OutboxInterceptors, a list of contributions; add to it with contributes/,
  );
});

test('an undefined dependency, as from a circular import, is named', () => {
  class Service {}
  const module = {
    name: 'circular',
    provides: [{ provide: Service, useFactory: () => new Service(), inject: [undefined as never] }],
  };
  expect(() => composeModules([module])).toThrow(/module circular injects undefined into Service/);
});

test('a class with a static member named optional is an ordinary token', () => {
  // biome-ignore lint/complexity/noStaticOnlyClass: that is what is tried.
  class Settings {
    static readonly optional = true;
  }
  class Service {
    static readonly inject = [Settings] as const;
    readonly settings: Settings;
    constructor(settings: Settings) {
      this.settings = settings;
    }
  }
  const app = composeModules([
    {
      name: 'a',
      provides: [
        { provide: Settings, useClass: Settings },
        { provide: Service, useClass: Service },
      ],
    },
  ]);
  expect(app.get(Service).settings).toBeInstanceOf(Settings);
});

test('resources start before work and stop after it, whatever the order of the modules', async () => {
  const steps: string[] = [];
  const lifecycle = (name: string, phase: 'resource' | 'work') => ({
    name,
    contributes: [
      {
        to: Lifecycles,
        useValue: {
          name,
          phase,
          start: () => void steps.push(`start ${name}`),
          stop: () => void steps.push(`stop ${name}`),
        },
      },
    ],
  });
  const app = composeModules([lifecycle('worker', 'work'), lifecycle('connection', 'resource')]);
  await app.start();
  await app.stop();
  expect(steps).toEqual(['start connection', 'start worker', 'stop worker', 'stop connection']);
});
