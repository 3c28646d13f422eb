/** A problem with the outbox tables or the server they are on, and how to fix it. */
export interface SchemaProblem {
  /** `required`: the store can't work with this, and start refuses. `tuning`: it works, but badly. */
  readonly level: 'required' | 'tuning';
  /** Stable. `FOREIGN_TABLE`: a table has the outbox's name, but is not an outbox table. */
  readonly code?: 'FOREIGN_TABLE';
  readonly problem: string;
  /** The statements that fix it, or how to fix it as an SQL comment. */
  readonly fix: string;
}
