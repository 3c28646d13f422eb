import { nameToken } from '../modules/token.js';
import type { SchemaProblem } from '../observe/schema-problem.js';

export interface DiagnosticLimits {
  /** Transactions that have been open for longer are reported. */
  readonly transactionAgeMs: number;
}

/** Finds current problems around the outbox that are not in its tables, such as long-running transactions. */
export abstract class OutboxDiagnostics {
  static {
    nameToken(this, '@postcommit/core/OutboxDiagnostics');
  }

  /** Returns the problems found; empty when all is well. */
  abstract find(limits: DiagnosticLimits): Promise<SchemaProblem[]>;
}
