import { OutboxError } from '../message/errors.js';
import type { Lifecycle } from '../modules/lifecycle.js';
import type { DispatchEvents } from '../observe/dispatch-events.js';
import type { SchemaProblem } from '../observe/schema-problem.js';
import type { OutboxSchema } from './outbox-schema.js';

/** Problems named in the error: a table of another version can have thirty. */
const MAX_SHOWN = 3;

/**
 * Refuses to start on tables that can't work or are not ours, and emits `schemaProblem` for those that are badly tuned.
 * If the database does not answer, the application still starts: the worker keeps trying and emits `trouble`.
 */
export function schemaCheck(schema: OutboxSchema | undefined, events: DispatchEvents): Lifecycle {
  return {
    name: 'OutboxSchema',
    start: async () => {
      const problems = await findProblems(schema, events);
      const required = problems.filter(({ level }) => level === 'required');
      if (required.length > 0) throw schemaError(required);
      for (const problem of problems) events.emit('schemaProblem', problem);
    },
    stop: () => {},
  };
}

async function findProblems(
  schema: OutboxSchema | undefined,
  events: DispatchEvents,
): Promise<SchemaProblem[]> {
  try {
    return (await schema?.check()) ?? [];
  } catch (error) {
    events.emit('trouble', { error, retryInMs: 0 });
    return [];
  }
}

/** Keeps the text short: `outbox:doctor` prints the statements. */
function schemaError(problems: readonly SchemaProblem[]): OutboxError {
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
