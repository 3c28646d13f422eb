import { nameToken, Pool } from '@postcommit/core';

export interface DoctorFinding {
  /** `required`: the outbox can't work like this. `tuning`: it works, but badly. */
  readonly level: 'required' | 'tuning';
  readonly problem: string;
  /** What mends it: a statement, if there is one. */
  readonly fix: string;
}

export interface DoctorLimits {
  /** A transaction that has been open for longer is worth telling. */
  readonly transactionAgeMs: number;
}

/** Something that `outbox:doctor` looks at. */
export interface DoctorCheck {
  readonly name: string;
  find(limits: DoctorLimits): Promise<readonly DoctorFinding[]>;
}

/** Checks that modules contribute beside that of the schema. */
export class DoctorChecks extends Pool<DoctorCheck> {
  static {
    nameToken(this, '@postcommit/cli/DoctorChecks');
  }
}
