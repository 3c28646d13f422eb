import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { DispatchEvents } from '../../src/observe/dispatch-events.js';

describe('DispatchEvents', () => {
  let warnings: MockInstance<typeof process.emitWarning>;

  beforeEach(() => {
    warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  });

  afterEach(() => {
    warnings.mockRestore();
  });

  test('calls every listener of an event in the order of registration, and no other', () => {
    const events = new DispatchEvents();
    const heard: unknown[] = [];
    events.on('recovered', (told) => heard.push(['first', told]));
    events.on('recovered', (told) => heard.push(['second', told]));
    events.on('started', (told) => heard.push(['started', told]));
    events.emit('recovered', { afterMs: 5 });
    expect(heard).toEqual([
      ['first', { afterMs: 5 }],
      ['second', { afterMs: 5 }],
    ]);
  });

  test('an event without listeners is ignored', () => {
    const events = new DispatchEvents();
    expect(() => events.emit('started', {})).not.toThrow();
    expect(warnings).not.toHaveBeenCalled();
  });

  test('an unsubscribed listener is not called, and may unsubscribe twice', () => {
    const events = new DispatchEvents();
    const heard: string[] = [];
    const leave = events.on('started', () => heard.push('one'));
    events.on('started', () => heard.push('other'));
    leave();
    leave();
    events.emit('started', {});
    expect(heard).toEqual(['other']);
  });

  test('a listener that unsubscribes during an event does not affect the others', () => {
    const events = new DispatchEvents();
    const heard: string[] = [];
    const leave = events.on('started', () => {
      leave();
      heard.push('one');
    });
    events.on('started', () => heard.push('other'));
    events.emit('started', {});
    events.emit('started', {});
    expect(heard).toEqual(['one', 'other', 'other']);
  });

  test('knows whether an event has listeners', () => {
    const events = new DispatchEvents();
    expect(events.hasListeners('dead')).toBe(false);
    const leave = events.on('dead', () => {});
    expect([events.hasListeners('dead'), events.hasListeners('failed')]).toEqual([true, false]);
    leave();
    expect(events.hasListeners('dead')).toBe(false);
  });

  const failures: Array<[string, () => unknown]> = [
    [
      'throws',
      () => {
        throw new Error('pager is away: token=hunter2');
      },
    ],
    ['rejects', () => Promise.reject(new Error('pager is away: token=hunter2'))],
  ];

  test.each(failures)(
    'a listener that %s is reported by listenerFailed, and does not affect others',
    async (_how, fail) => {
      const events = new DispatchEvents();
      const heard: unknown[] = [];
      events.on('started', fail);
      events.on('started', () => heard.push('other'));
      events.on('listenerFailed', (told) => heard.push(told));
      events.emit('started', {});
      await Promise.resolve();
      expect(heard).toHaveLength(2);
      expect(heard).toContain('other');
      expect(heard).toContainEqual({ event: 'started', error: new Error('pager is away: token=hunter2') });
      expect(warnings).not.toHaveBeenCalled();
    },
  );

  test.each(failures)(
    'a listener that %s causes a process warning if nobody listens to listenerFailed',
    async (_how, fail) => {
      const events = new DispatchEvents();
      events.on('dead', fail);
      events.emit('dead', { row: {} as never, error: 'no', reason: 'permanent' });
      await Promise.resolve();
      expect(warnings.mock.calls).toEqual([
        ["a listener of the outbox event 'dead' failed: pager is away: token=***", 'OutboxWarning'],
      ]);
    },
  );

  test.each(failures)(
    'a listener of listenerFailed that %s causes a warning, not a loop',
    async (_how, fail) => {
      const events = new DispatchEvents();
      const failed = vi.fn(fail);
      events.on('started', () => {
        throw new Error('first');
      });
      events.on('listenerFailed', failed);
      events.emit('started', {});
      await Promise.resolve();
      expect(failed).toHaveBeenCalledTimes(1);
      expect(warnings.mock.calls).toEqual([
        ["a listener of the outbox event 'listenerFailed' failed: pager is away: token=***", 'OutboxWarning'],
      ]);
    },
  );

  test('a slow listener is not awaited', () => {
    const events = new DispatchEvents();
    const heard: string[] = [];
    events.on('started', () => new Promise(() => {}));
    events.on('started', () => heard.push('other'));
    events.emit('started', {});
    expect(heard).toEqual(['other']);
  });
});
