import { nameToken } from '../modules/token.js';
import type { SchemaProblem } from '../observe/schema-problem.js';

export interface DiagnosticLimits {
  /** A transaction that has been open for longer is worth telling. */
  readonly transactionAgeMs: number;
}

/** What harms the outbox at present without being a matter of its table. */
export abstract class OutboxDiagnostics {
  static {
    nameToken(this, '@postcommit/core/OutboxDiagnostics');
  }

  /** Empty when all is well. */
  abstract find(limits: DiagnosticLimits): Promise<SchemaProblem[]>;
}
