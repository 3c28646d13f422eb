import type { OutboxSchema, SchemaProblem } from './capabilities.js';
import { OutboxError } from './errors.js';
import type { Lifecycle } from './modules/lifecycle.js';
import type { OutboxSignals } from './outbox-signals.js';

/**
 * Refuses to start on a table that can't work, with what mends it, and tells what is only badly tuned. A database that
 * does not answer is no reason to refuse: the worker goes on trying, and says so.
 */
export function schemaCheck(schema: OutboxSchema | undefined, signals: OutboxSignals): Lifecycle {
  return {
    name: 'OutboxSchema',
    start: async () => {
      const problems = await found(schema, signals);
      const required = problems.filter(({ level }) => level === 'required');
      if (required.length > 0) throw outdated(required);
      for (const problem of problems) signals.tell('schemaProblem', problem);
    },
    stop: () => {},
  };
}

async function found(schema: OutboxSchema | undefined, signals: OutboxSignals): Promise<SchemaProblem[]> {
  try {
    return (await schema?.check()) ?? [];
  } catch (error) {
    signals.tell('trouble', { error, retryInMs: 0 });
    return [];
  }
}

function outdated(problems: readonly SchemaProblem[]): OutboxError {
  const list = problems.map(({ problem, fix }) => `${problem} (${fix})`).join('; ');
  return new OutboxError(
    'SCHEMA_OUTDATED',
    `the outbox table is not ready; run outbox:migrate or call ensure() of OutboxSchema. ${list}`,
  );
}
