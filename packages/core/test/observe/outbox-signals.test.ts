import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { OutboxSignals } from '../../src/observe/outbox-signals.js';

describe('OutboxSignals', () => {
  let warnings: MockInstance<typeof process.emitWarning>;

  beforeEach(() => {
    warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  });

  afterEach(() => {
    warnings.mockRestore();
  });

  test('tells every listener of a signal, in the order in which they came, and no other', () => {
    const signals = new OutboxSignals();
    const heard: unknown[] = [];
    signals.on('recovered', (told) => heard.push(['first', told]));
    signals.on('recovered', (told) => heard.push(['second', told]));
    signals.on('started', (told) => heard.push(['started', told]));
    signals.tell('recovered', { afterMs: 5 });
    expect(heard).toEqual([
      ['first', { afterMs: 5 }],
      ['second', { afterMs: 5 }],
    ]);
  });

  test('a signal that nobody listens to is told to nobody', () => {
    const signals = new OutboxSignals();
    expect(() => signals.tell('started', {})).not.toThrow();
    expect(warnings).not.toHaveBeenCalled();
  });

  test('a listener that left hears nothing, also when it leaves twice', () => {
    const signals = new OutboxSignals();
    const heard: string[] = [];
    const leave = signals.on('started', () => heard.push('one'));
    signals.on('started', () => heard.push('other'));
    leave();
    leave();
    signals.tell('started', {});
    expect(heard).toEqual(['other']);
  });

  test('a listener that leaves while it is told does not keep it from the others', () => {
    const signals = new OutboxSignals();
    const heard: string[] = [];
    const leave = signals.on('started', () => {
      leave();
      heard.push('one');
    });
    signals.on('started', () => heard.push('other'));
    signals.tell('started', {});
    signals.tell('started', {});
    expect(heard).toEqual(['one', 'other', 'other']);
  });

  test('knows whether somebody listens', () => {
    const signals = new OutboxSignals();
    expect(signals.hasListeners('dead')).toBe(false);
    const leave = signals.on('dead', () => {});
    expect([signals.hasListeners('dead'), signals.hasListeners('failed')]).toEqual([true, false]);
    leave();
    expect(signals.hasListeners('dead')).toBe(false);
  });

  const failures: Array<[string, () => unknown]> = [
    [
      'throws',
      () => {
        throw new Error('pager is away');
      },
    ],
    ['rejects', () => Promise.reject(new Error('pager is away'))],
  ];

  test.each(failures)(
    'a listener that %s is told to listenerFailed, and harms no other',
    async (_how, fail) => {
      const signals = new OutboxSignals();
      const heard: unknown[] = [];
      signals.on('started', fail);
      signals.on('started', () => heard.push('other'));
      signals.on('listenerFailed', (told) => heard.push(told));
      signals.tell('started', {});
      await Promise.resolve();
      expect(heard).toHaveLength(2);
      expect(heard).toContain('other');
      expect(heard).toContainEqual({ signal: 'started', error: new Error('pager is away') });
      expect(warnings).not.toHaveBeenCalled();
    },
  );

  test.each(failures)('a listener that %s is a process warning where nobody listens', async (_how, fail) => {
    const signals = new OutboxSignals();
    signals.on('dead', fail);
    signals.tell('dead', { row: {} as never, error: 'no', reason: 'permanent' });
    await Promise.resolve();
    expect(warnings.mock.calls).toEqual([
      ["a listener of the outbox signal 'dead' failed: pager is away", 'OutboxWarning'],
    ]);
  });

  test.each(failures)('a listener of listenerFailed that %s is a warning, not a loop', async (_how, fail) => {
    const signals = new OutboxSignals();
    const failed = vi.fn(fail);
    signals.on('started', () => {
      throw new Error('first');
    });
    signals.on('listenerFailed', failed);
    signals.tell('started', {});
    await Promise.resolve();
    expect(failed).toHaveBeenCalledTimes(1);
    expect(warnings.mock.calls).toEqual([
      ["a listener of the outbox signal 'listenerFailed' failed: pager is away", 'OutboxWarning'],
    ]);
  });

  test('a listener that takes its time is not waited for', () => {
    const signals = new OutboxSignals();
    const heard: string[] = [];
    signals.on('started', () => new Promise(() => {}));
    signals.on('started', () => heard.push('other'));
    signals.tell('started', {});
    expect(heard).toEqual(['other']);
  });
});
