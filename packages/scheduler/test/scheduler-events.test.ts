import { SchedulerEvents } from '@postcommit/scheduler';
import { describe, expect, test } from 'vitest';
import { recordWarnings } from './process-warnings.js';

const tick = { job: 'sweep', scheduledAt: new Date('2026-01-01T00:00:00Z') };

describe('SchedulerEvents', () => {
  test('warns about important events that nobody listens to', async () => {
    const warnings = recordWarnings();
    const events = new SchedulerEvents();
    events.emit('failed', { ...tick, error: new Error('boom') });
    events.emit('lockLost', { ...tick, error: new Error('the lock was lost') });
    events.emit('abandoned', tick);
    events.emit('skipped', { ...tick, reason: 'locked' });
    events.emit('finished', { ...tick, durationMs: 1 });
    expect(await warnings()).toEqual([
      "scheduled job 'sweep', 2026-01-01T00:00:00.000Z: failed: boom",
      "scheduled job 'sweep', 2026-01-01T00:00:00.000Z: the lock was lost",
      "scheduled job 'sweep', 2026-01-01T00:00:00.000Z: still running after the scheduler stopped",
    ]);
  });

  test('does not warn about events with a listener, until it unsubscribes', async () => {
    const warnings = recordWarnings();
    const events = new SchedulerEvents();
    const heard: unknown[] = [];
    const stopListening = events.on('failed', ({ error }) => heard.push(error));
    events.emit('failed', { ...tick, error: 'one' });
    stopListening();
    events.emit('failed', { ...tick, error: 'two' });
    expect(heard).toEqual(['one']);
    expect(await warnings()).toEqual([expect.stringContaining('failed: two')]);
  });

  test('a failing listener becomes a warning and delays nothing', async () => {
    const warnings = recordWarnings();
    const events = new SchedulerEvents();
    const heard: string[] = [];
    events.on('skipped', () => {
      throw new Error('at once');
    });
    events.on('skipped', async () => {
      throw new Error('later');
    });
    // Like the query of an ORM: not a Promise, and run only when it is awaited.
    events.on('skipped', () => ({
      // biome-ignore lint/suspicious/noThenProperty: it stands for such a query.
      then: (_: unknown, reject: (error: Error) => void) => reject(new Error('when awaited')),
    }));
    events.on('skipped', ({ reason }) => heard.push(reason));
    events.emit('skipped', { ...tick, reason: 'running' });
    expect(heard).toEqual(['running']);
    expect(await warnings()).toEqual([
      "a listener of the scheduler event 'skipped' failed: at once",
      "a listener of the scheduler event 'skipped' failed: later",
      "a listener of the scheduler event 'skipped' failed: when awaited",
    ]);
  });
});
