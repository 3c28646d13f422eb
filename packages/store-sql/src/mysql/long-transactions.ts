import type { LongTransactionStatements } from '../capability-statements.js';

/**
 * A transaction with a snapshot keeps the server from removing rows deleted or changed since, also in the outbox, so
 * claims have to skip old row versions. Needs the PROCESS privilege.
 */
export const longTransactions: LongTransactionStatements = {
  find: (olderThanMs) => ({
    text: `
      select trx_mysql_thread_id + 0e0 as thread, timestampdiff(second, trx_started, now()) * 1e3 as age_ms
      from information_schema.innodb_trx
      where trx_mysql_thread_id <> connection_id() and trx_started <= now() - interval (? * 1000) microsecond
      order by trx_started
      limit 20`,
    values: [olderThanMs],
  }),
  problemOf: ({ thread, age_ms }) => ({
    level: 'tuning',
    problem: `the transaction of connection ${thread} has been open for ${Math.round(Number(age_ms) / 1_000)} s and holds back the purge of old row versions`,
    fix: `kill ${thread};`,
  }),
};
