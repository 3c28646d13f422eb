import type { SqlStatement } from '../sql-statement.js';

/**
 * MariaDB limits any statement; MySQL, which skips `M!` comments, only those that begin with SELECT. There a write that
 * waits for a lock ends after `innodb_lock_wait_timeout`: to change that for one statement takes a round trip. A SELECT
 * with a hint has a shorter limit of its own.
 */
export function limit({ text, values }: SqlStatement, ms: number): SqlStatement {
  const trimmed = text.trimStart();
  const isSelect = trimmed.startsWith('select ') && !trimmed.startsWith('select /*+');
  const hinted = isSelect
    ? `select /*+ max_execution_time(${ms}) */ ${trimmed.slice('select '.length)}`
    : trimmed;
  return { text: `/*M! set statement max_statement_time=${ms / 1_000} for */ ${hinted}`, values };
}
