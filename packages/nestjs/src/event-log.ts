import type { Logger } from '@nestjs/common';
import type { DispatchEvents, OutboxRow } from '@postcommit/core';
import { errorText } from '@postcommit/core/internal';

/** Logs the events of the outbox to the application's logger. Never logs a payload. */
export function logEvents(events: DispatchEvents, logger: Logger): void {
  events.on('started', () => logger.log('outbox worker started'));
  events.on('stopped', ({ abandoned }) => {
    if (abandoned.length === 0) logger.log('outbox worker stopped');
    else
      logger.warn(
        `outbox worker stopped with unfinished events, left to another process: ${abandoned.join(', ')}`,
      );
  });
  events.on('batch', (summary) => logger.debug(`batch settled: ${JSON.stringify(summary)}`));
  events.on('failed', ({ row, error, delayMs }) =>
    logger.warn(`${nameOf(row)} failed, next try in ${delayMs} ms: ${quoted(error)}`),
  );
  events.on('dead', ({ row, error, reason }) =>
    logger.error(`${nameOf(row)} is FAILED (${reason}): ${quoted(error)}`),
  );
  events.on('retaken', ({ row }) =>
    logger.warn(`took over ${nameOf(row)}, stuck in PROCESSING: its process died or stalled`),
  );
  events.on('fenced', ({ ids }) =>
    logger.warn(`outcomes came too late, another process has taken these events over: ${ids.join(', ')}`),
  );
  events.on('unavailable', ({ destination, error, nextTryInMs }) =>
    logger.error(
      `destination ${quoted(destination)} is away, next try in ${nextTryInMs} ms: ${quoted(errorText(error))}`,
    ),
  );
  events.on('available', ({ destination, afterMs }) =>
    logger.log(`destination ${quoted(destination)} is back after ${afterMs} ms`),
  );
  events.on('failures', ({ topic, count, windowMs }) =>
    logger.warn(`${count} failures of type ${quoted(topic)} within ${windowMs} ms`),
  );
  events.on('backlog', ({ pending, threshold }) =>
    logger.warn(`${pending} events are PENDING (threshold ${threshold})`),
  );
  events.on('eventLoopBlocked', ({ ms }) =>
    logger.warn(`the event loop was blocked for ${ms} ms, so nothing was published`),
  );
  logStore(events, logger);
}

function logStore(events: DispatchEvents, logger: Logger): void {
  events.on('trouble', ({ error, retryInMs }) =>
    logger.error(
      `the outbox can't reach its table, retrying in ${retryInMs} ms: ${quoted(errorText(error))}`,
    ),
  );
  events.on('storeProblem', ({ error }) =>
    logger.warn(`the outbox store reports a problem: ${quoted(errorText(error))}`),
  );
  events.on('recovered', ({ afterMs }) =>
    logger.log(`the outbox can reach its table again after ${afterMs} ms`),
  );
  events.on('wakeup', ({ isListening, pollIntervalMs, error }) => {
    const polls = `polling every ${pollIntervalMs} ms`;
    if (isListening) logger.debug('listening for enqueues of other processes');
    else if (error === undefined) logger.log(`${polls}; enqueues of other processes wait for the next poll`);
    else logger.warn(`${polls}, because listening for enqueues failed: ${quoted(errorText(error))}`);
  });
  events.on('listenerFailed', ({ event, error }) =>
    logger.error(`a listener of the event '${event}' failed: ${quoted(errorText(error))}`),
  );
}

function nameOf({ id, topic }: OutboxRow): string {
  return `event ${id} of type ${quoted(topic)}`;
}

/** Quoted, so that a line break in a topic or an error cannot forge a log line. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
