import { DispatchEvents, type OutboxApp } from '@postcommit/core';
import { errorText } from '@postcommit/core/internal';
import { tell } from './points.js';

/** Reports the worker's events to the run. */
export function reportSignals(app: OutboxApp): void {
  const events = app.get(DispatchEvents);
  const report = (signal: string, ids: readonly string[] = [], text = ''): void =>
    tell({ tell: 'signal', signal, ids, text });
  events.on('fenced', ({ ids }) => report('fenced', ids));
  events.on('retaken', ({ row }) => report('retaken', [row.id]));
  events.on('dead', ({ row, reason }) => report('dead', [row.id], reason));
  events.on('trouble', ({ error }) => report('trouble', [], errorText(error)));
  events.on('recovered', () => report('recovered'));
  events.on('workerLost', ({ workerId, rows }) => report('workerLost', [workerId], String(rows)));
  events.on('declaredLost', ({ workerId }) => report('declaredLost', [workerId]));
  events.on('stopped', ({ abandoned }) => tell({ tell: 'stopped', abandoned }));
}
