import type { Logger } from '@nestjs/common';
import { type DispatchEvents, errorText, type OutboxRow } from '@postcommit/core';

/** Writes what happens to the log of the application. Never a payload. */
export function logEvents(events: DispatchEvents, logger: Logger): void {
  events.on('started', () => logger.log('the outbox worker has started'));
  events.on('stopped', ({ abandoned }) => {
    if (abandoned.length === 0) logger.log('the outbox worker has stopped');
    else
      logger.warn(
        `the outbox worker has stopped; still being handled, and left to another: ${abandoned.join(', ')}`,
      );
  });
  events.on('batch', (summary) => logger.debug(`batch settled: ${JSON.stringify(summary)}`));
  events.on('failed', ({ row, error, delayMs }) =>
    logger.warn(`${nameOf(row)} failed, tried again in ${delayMs} ms: ${quoted(error)}`),
  );
  events.on('dead', ({ row, error, reason }) =>
    logger.error(`${nameOf(row)} is FAILED (${reason}): ${quoted(error)}`),
  );
  events.on('retaken', ({ row }) =>
    logger.warn(`${nameOf(row)} was stuck in PROCESSING and is taken over; its process died or stalled`),
  );
  events.on('fenced', ({ ids }) =>
    logger.warn(`recorded too late, another process has taken over: ${ids.join(', ')}`),
  );
  events.on('failures', ({ topic, count, windowMs }) =>
    logger.warn(`${count} failures of type ${quoted(topic)} within ${windowMs} ms`),
  );
  events.on('backlog', ({ pending, threshold }) =>
    logger.warn(`${pending} events are PENDING, the threshold is ${threshold}`),
  );
  logTroubles(events, logger);
}

function logTroubles(events: DispatchEvents, logger: Logger): void {
  events.on('trouble', ({ error, retryInMs }) =>
    logger.error(
      `the outbox can't reach its table, tries again in ${retryInMs} ms: ${quoted(errorText(error))}`,
    ),
  );
  events.on('storeProblem', ({ error }) =>
    logger.warn(`the outbox store reports a problem: ${quoted(errorText(error))}`),
  );
  events.on('recovered', ({ afterMs }) =>
    logger.log(`the outbox reaches its table again, after ${afterMs} ms`),
  );
  events.on('wakeup', ({ isListening, error }) => {
    if (isListening) logger.debug('enqueues of other processes wake the worker');
    else
      logger.warn(`enqueues of other processes don't wake the worker, it polls: ${quoted(errorText(error))}`);
  });
  events.on('listenerFailed', ({ signal, error }) =>
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
