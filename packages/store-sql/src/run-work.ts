import type { SqlRecord, SqlStatement, SqlWork } from './sql-statement.js';

/** Runs one statement, or steps in sequence, and returns the resulting records. */
export async function runWork(
  work: SqlWork,
  run: (statement: SqlStatement) => Promise<SqlRecord[]>,
): Promise<SqlRecord[]> {
  if (typeof work !== 'function') return run(work);
  const steps = work();
  let step = steps.next();
  while (!step.done) {
    const statement = step.value;
    step = await run(statement).then(
      (records) => steps.next(records),
      (error) => steps.throw(error),
    );
  }
  return [...step.value];
}

/** Does the same on a synchronous driver, so nothing else in this process runs in between. */
export function runWorkAtOnce(work: SqlWork, run: (statement: SqlStatement) => SqlRecord[]): SqlRecord[] {
  if (typeof work !== 'function') return run(work);
  const steps = work();
  let step = steps.next();
  while (!step.done) {
    let records: SqlRecord[];
    try {
      records = run(step.value);
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(records);
  }
  return [...step.value];
}
