import { errorText, type OutboxApp, OutboxSignals } from '@postcommit/core';
import { tell } from './points.js';

/** What a worker tells its operator, it tells the run too. */
export function reportSignals(app: OutboxApp): void {
  const signals = app.get(OutboxSignals);
  const report = (signal: string, ids: readonly string[] = [], text = ''): void =>
    tell({ tell: 'signal', signal, ids, text });
  signals.on('fenced', ({ ids }) => report('fenced', ids));
  signals.on('retaken', ({ row }) => report('retaken', [row.id]));
  signals.on('dead', ({ row, reason }) => report('dead', [row.id], reason));
  signals.on('trouble', ({ error }) => report('trouble', [], errorText(error)));
  signals.on('recovered', () => report('recovered'));
  signals.on('stopped', ({ abandoned }) => tell({ tell: 'stopped', abandoned }));
}
