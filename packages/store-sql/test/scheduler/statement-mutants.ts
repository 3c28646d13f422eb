import type { SqlDialect, SqlStatement, SqlWork } from '@postcommit/store-sql';

/** Statements with one thing broken, which the scheduler must find out. */
export interface StatementMutant {
  readonly name: string;
  readonly dialect: SqlDialect;
  readonly breaks: RegExp;
}

export const NOTHING: SqlStatement = { text: 'select 1', values: [] };

/** The same work with every statement rewritten, by its place. */
export function rewritten<Work extends SqlWork>(
  work: Work,
  rewrite: (statement: SqlStatement, place: number) => SqlStatement,
): Work;
export function rewritten(
  work: SqlWork,
  rewrite: (statement: SqlStatement, place: number) => SqlStatement,
): SqlWork {
  if (typeof work !== 'function') return rewrite(work, 0);
  return function* () {
    const steps = work();
    let step = steps.next();
    for (let place = 0; !step.done; place++) step = steps.next(yield rewrite(step.value, place));
    return step.value;
  };
}

/** Replaces the first occurrence, and makes sure that there is one. */
export function replaced({ text, values }: SqlStatement, part: string, by: string): SqlStatement {
  if (!text.includes(part)) throw new Error(`the statement has changed; not found: ${part}`);
  return { text: text.replace(part, () => by), values };
}
