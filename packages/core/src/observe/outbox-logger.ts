/** Where the outbox logs. `console` and pino fit as they are. */
export interface OutboxLogger {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

/** Writes one line per message to standard error. The default of `createOutbox`. */
export const standardErrorLogger: OutboxLogger = {
  info: (message) => write('info', message),
  warn: (message) => write('warn', message),
  error: (message) => write('error', message),
};

function write(level: string, message: string): void {
  process.stderr.write(`[outbox] ${level}: ${message}\n`);
}
