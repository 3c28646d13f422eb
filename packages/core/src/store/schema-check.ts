import { OutboxError } from '../message/errors.js';
import type { Lifecycle } from '../modules/lifecycle.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { SchemaProblem } from '../observe/schema-problem.js';
import type { OutboxSchema } from './outbox-schema.js';

/** Problems named in a refusal: a table of another version has thirty. */
const MAX_SHOWN = 3;

/**
 * Refuses to start on a table that can't work or is not ours, and reports what is only badly tuned. A database that
 * does not answer is no reason to refuse: the worker goes on trying, and says so.
 */
export function schemaCheck(schema: OutboxSchema | undefined, events: DispatchEvents): Lifecycle {
  return {
    name: 'OutboxSchema',
    start: async () => {
      const problems = await found(schema, events);
      const required = problems.filter(({ level }) => level === 'required');
      if (required.length > 0) throw refusal(required);
      for (const problem of problems) events.emit('schemaProblem', problem);
    },
    stop: () => {},
  };
}

async function found(schema: OutboxSchema | undefined, events: DispatchEvents): Promise<SchemaProblem[]> {
  try {
    return (await schema?.check()) ?? [];
  } catch (error) {
    events.emit('trouble', { error, retryInMs: 0 });
    return [];
  }
}

/** Short: the statements are in `outbox:doctor`, and in `fix` of each problem. */
function refusal(problems: readonly SchemaProblem[]): OutboxError {
  const foreign = problems.find(({ code }) => code === 'FOREIGN_TABLE');
  if (foreign)
    return new OutboxError('FOREIGN_TABLE', `${foreign.problem}: ${foreign.fix.replace(/^-- /, '')}`);
  const shown = problems.slice(0, MAX_SHOWN).map(({ problem }) => problem);
  const more = problems.length > MAX_SHOWN ? `; and ${problems.length - MAX_SHOWN} more` : '';
  return new OutboxError(
    'SCHEMA_OUTDATED',
    `the outbox table is not ready: ${shown.join('; ')}${more}. Run 'outbox:migrate', or call ensure() of OutboxSchema; 'outbox:doctor' prints the statements`,
  );
}
