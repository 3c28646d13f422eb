import type { DatabaseFault } from '../dialect.js';
import { codesOf, numbersOf } from '../driver-errors.js';

/** Not by SQLSTATE, since a duplicate shares its own with every other constraint violation. */
const FAULTS: Readonly<Record<string, DatabaseFault>> = {
  ER_DUP_ENTRY: 'duplicate',
  ER_NO_SUCH_TABLE: 'no table',
  ER_BAD_FIELD_ERROR: 'no column',
  ER_KEY_DOES_NOT_EXITS: 'no index',
  ER_QUERY_TIMEOUT: 'too slow',
};

/** `max_statement_time` of MariaDB; drivers have no name for it. */
const STATEMENT_TIMEOUT = 1969;

export function faultOf(error: unknown): DatabaseFault | undefined {
  if (numbersOf(error).includes(STATEMENT_TIMEOUT)) return 'too slow';
  const code = codesOf(error).find((each) => Object.hasOwn(FAULTS, each));
  return code === undefined ? undefined : FAULTS[code];
}

/** MariaDB uses one code for both. */
export function isLockTimeout(error: unknown): boolean {
  return codesOf(error).some((code) => code === 'ER_LOCK_WAIT_TIMEOUT' || code === 'ER_LOCK_NOWAIT');
}
