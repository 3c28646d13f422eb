import { errorText } from '../message/error-text.js';
import type { OutboxRow } from '../message/outbox-row.js';
import type { Clock } from '../runtime/timing.js';
import type { DispatchEvents } from './dispatch-events.js';
import type { OutboxLogger } from './outbox-logger.js';

/** Lines of the same kind are written at most once in this time; the next one says how many were left out. */
const SAME_LINE_EVERY_MS = 60_000;
/** Kinds to remember. Bounded, because kinds contain topics, which come from rows. */
const MAX_KINDS = 1_000;

type Level = keyof OutboxLogger;

/** Logs what an operator needs to know, one line per event and never a payload. */
export function logEvents(events: DispatchEvents, logger: OutboxLogger, clock: Clock): void {
  const log = new LimitedLog(logger, clock);
  events.on('failed', ({ row, error, delayMs }) =>
    log.write(
      'warn',
      `failed ${row.topic}`,
      `${named(row)} failed, next try in ${delayMs} ms: ${quoted(error)}`,
    ),
  );
  events.on('dead', ({ row, error, reason }) =>
    log.write('error', `dead ${row.topic} ${reason}`, `${named(row)} is dead (${reason}): ${quoted(error)}`),
  );
  events.on('retaken', ({ row }) =>
    log.write('warn', 'retaken', `took over ${named(row)}: the process that had claimed it died or stalled`),
  );
  events.on('workerLost', ({ workerId, host, pid, rows }) =>
    log.write(
      'warn',
      `workerLost ${workerId}`,
      `worker ${workerId} (process ${pid} on ${quoted(host)}) is lost: took over its ${rows} rows`,
    ),
  );
  events.on('declaredLost', ({ workerId }) =>
    log.write(
      'warn',
      'declaredLost',
      `other workers have taken the rows of this one (${workerId}) over: it was blocked, or could not reach the database`,
    ),
  );
  events.on('fenced', ({ ids }) =>
    log.write(
      'warn',
      'fenced',
      `${ids.length} outcomes came too late: another process has taken the rows over`,
    ),
  );
  events.on('stopped', ({ abandoned }) => {
    if (abandoned.length > 0)
      log.write(
        'warn',
        'stopped',
        `stopped with ${abandoned.length} publishes unfinished; their claims expire`,
      );
  });
  events.on('unavailable', ({ destination, error, nextTryInMs }) =>
    log.write(
      'error',
      `unavailable ${destination}`,
      `destination ${quoted(destination)} is away, next try in ${nextTryInMs} ms: ${quoted(errorText(error))}`,
    ),
  );
  events.on('available', ({ destination, afterMs }) =>
    log.write(
      'info',
      `available ${destination}`,
      `destination ${quoted(destination)} is back after ${afterMs} ms`,
    ),
  );
  events.on('publisherProblem', ({ publisher, level, problem, fix }) =>
    log.write(
      level === 'required' ? 'error' : 'warn',
      `publisher ${publisher} ${problem}`,
      `publisher ${quoted(publisher)}: ${quoted(problem)}; to fix it: ${fix}`,
    ),
  );
  events.on('eventLoopBlocked', ({ ms }) =>
    log.write(
      'warn',
      'eventLoopBlocked',
      `the event loop was blocked for ${ms} ms, so nothing was published`,
    ),
  );
  logStore(events, log);
}

function logStore(events: DispatchEvents, log: LimitedLog): void {
  events.on('trouble', ({ error }) =>
    log.write('error', 'trouble', `the database does not answer, retrying: ${quoted(errorText(error))}`),
  );
  events.on('recovered', ({ afterMs }) =>
    log.write('info', 'recovered', `the database answers again after ${Math.round(afterMs)} ms`),
  );
  events.on('storeProblem', ({ error }) =>
    log.write('warn', 'storeProblem', `the store reports a problem: ${quoted(errorText(error))}`),
  );
  logListening(events, log);
  events.on('schemaProblem', ({ problem, fix }) =>
    log.write('warn', `schema ${problem}`, `${problem}; to fix it: ${fix}`),
  );
}

/** Rows are late, not lost, while nothing wakes the worker: that is a warning only where a listener was wanted. */
function logListening(events: DispatchEvents, log: LimitedLog): void {
  let hasFailed = false;
  events.on('wakeup', ({ isListening, pollIntervalMs, error }) => {
    const polls = `polls every ${pollIntervalMs} ms`;
    if (isListening && hasFailed) log.write('info', 'listening', 'listens for rows of other processes again');
    if (!isListening && error === undefined)
      log.write('info', 'polling', `${polls}; rows of other processes wait for the next poll`);
    if (!isListening && error !== undefined)
      log.write('warn', 'wakeup', `${polls}, because listening failed: ${quoted(errorText(error))}`);
    hasFailed = !isListening && error !== undefined;
  });
}

class LimitedLog {
  readonly #logger: OutboxLogger;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, { readonly writtenAtMs: number; leftOut: number }>();

  constructor(logger: OutboxLogger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  write(level: Level, kind: string, message: string): void {
    const nowMs = this.#clock.monotonicMs();
    const last = this.#kinds.get(kind);
    if (last && nowMs - last.writtenAtMs < SAME_LINE_EVERY_MS) {
      last.leftOut += 1;
      return;
    }
    this.#remember(kind, nowMs);
    const leftOut = last?.leftOut ? ` (${last.leftOut} more like this since the last line)` : '';
    this.#logger[level](message + leftOut);
  }

  /** Forgets the kind that was written longest ago. */
  #remember(kind: string, writtenAtMs: number): void {
    this.#kinds.delete(kind);
    this.#kinds.set(kind, { writtenAtMs, leftOut: 0 });
    const [oldest] = this.#kinds.keys();
    if (this.#kinds.size > MAX_KINDS && oldest !== undefined) this.#kinds.delete(oldest);
  }
}

function named({ id, topic }: OutboxRow): string {
  return `row ${id} of topic ${quoted(topic)}`;
}

/** Quotes a text, so that a line break in a topic or an error can't forge a log line. */
function quoted(text: string): string {
  return JSON.stringify(text);
}
