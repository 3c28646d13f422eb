/**
 * Ends each later statement of the transaction after `ms` milliseconds, a parameter. A shorter limit that the
 * role or the connection has stays.
 */
export function limitStatements(ms: string): string {
  return `case
          when current_setting('statement_timeout')::interval between interval '1 ms' and ${ms}::int * interval '1 ms' then null
          else set_config('statement_timeout', ${ms}::int::text, true)
        end`;
}
