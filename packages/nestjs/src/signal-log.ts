import type { Logger } from '@nestjs/common';
import { errorText, type OutboxRow, type OutboxSignals } from '@postcommit/core';

/** Writes what happens to the log of the application. Never a payload. */
export function logSignals(signals: OutboxSignals, logger: Logger): void {
  signals.on('started', () => logger.log('the outbox worker has started'));
  signals.on('stopped', ({ abandoned }) => {
    if (abandoned.length === 0) logger.log('the outbox worker has stopped');
    else
      logger.warn(
        `the outbox worker has stopped; still being handled, and left to another: ${abandoned.join(', ')}`,
      );
  });
  signals.on('batch', (summary) => logger.debug(`batch settled: ${JSON.stringify(summary)}`));
  signals.on('failed', ({ row, error, delayMs }) =>
    logger.warn(`${nameOf(row)} failed, tried again in ${delayMs} ms: ${quoted(error)}`),
  );
  signals.on('dead', ({ row, error, reason }) =>
    logger.error(`${nameOf(row)} is FAILED (${reason}): ${quoted(error)}`),
  );
  signals.on('retaken', ({ row }) =>
    logger.warn(`${nameOf(row)} was stuck in PROCESSING and is taken over; its process died or stalled`),
  );
  signals.on('fenced', ({ ids }) =>
    logger.warn(`recorded too late, another process has taken over: ${ids.join(', ')}`),
  );
  signals.on('failures', ({ topic, count, windowMs }) =>
    logger.warn(`${count} failures of type ${quoted(topic)} within ${windowMs} ms`),
  );
  signals.on('backlog', ({ pending, threshold }) =>
    logger.warn(`${pending} events are PENDING, the threshold is ${threshold}`),
  );
  logTroubles(signals, logger);
}

function logTroubles(signals: OutboxSignals, logger: Logger): void {
  signals.on('trouble', ({ error, retryInMs }) =>
    logger.error(
      `the outbox can't reach its table, tries again in ${retryInMs} ms: ${quoted(errorText(error))}`,
    ),
  );
  signals.on('storeProblem', ({ error }) =>
    logger.warn(`the outbox store reports a problem: ${quoted(errorText(error))}`),
  );
  signals.on('recovered', ({ afterMs }) =>
    logger.log(`the outbox reaches its table again, after ${afterMs} ms`),
  );
  signals.on('wakeup', ({ isListening, error }) => {
    if (isListening) logger.debug('enqueues of other processes wake the worker');
    else
      logger.warn(`enqueues of other processes don't wake the worker, it polls: ${quoted(errorText(error))}`);
  });
  signals.on('listenerFailed', ({ signal, error }) =>
    logger.error(`a listener of the signal ${signal} failed: ${quoted(errorText(error))}`),
  );
}

function nameOf({ id, topic }: OutboxRow): string {
  return `event ${id} of type ${quoted(topic)}`;
}

/** A line break in a topic or an error must not begin a line of the log. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
