import type { DatabaseFault } from '../dialect.js';
import { sqlState } from '../driver-errors.js';

const FAULTS: Readonly<Record<string, DatabaseFault>> = {
  '23505': 'duplicate',
  '42P01': 'no table',
  '42703': 'no column',
  '57014': 'too slow',
};

export function faultOf(error: unknown): DatabaseFault | undefined {
  return FAULTS[sqlState(error) ?? ''];
}
