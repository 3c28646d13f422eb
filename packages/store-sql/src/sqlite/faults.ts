import type { DatabaseFault } from '../dialect.js';
import { textsOf } from '../driver-errors.js';

/** Matches SQLite's own messages, since sql.js sets no error code. */
const FAULTS: ReadonlyArray<readonly [text: RegExp, fault: DatabaseFault]> = [
  [/UNIQUE constraint failed/, 'duplicate'],
  [/no such table/, 'no table'],
  [/no such column|has no column named/, 'no column'],
];

export function faultOf(error: unknown): DatabaseFault | undefined {
  const texts = textsOf(error);
  return FAULTS.find(([text]) => texts.some((each) => text.test(each)))?.[1];
}
