/** For this transaction, return floats exactly, even if the role has rounding configured. */
export const EXACT_FLOATS = `set_config('extra_float_digits', '1', true)`;

/** An interval or a time in milliseconds, as text, since the digits of a float depend on `extra_float_digits`. */
export function exactMs(time: string): string {
  return `(extract(epoch from ${time}) * 1000)::text`;
}

/** A time as a `DuePlace` has it. Years before Christ become the first year, which no search distinguishes. */
export function placeMicroseconds(time: string): string {
  return `(extract(epoch from greatest(${time}, timestamptz '0001-01-01 00:00Z')) * 1000000)::bigint::text`;
}

/** As a float, which is twice as fast; the statement must set `EXACT_FLOATS`. */
function floatMs(time: string): string {
  return `date_part('epoch', ${time}) * 1000`;
}

/** The columns of a pending row `o`. Values that most rows have are returned as null, which is cheaper for drivers. */
function pendingColumns(toMs: (time: string) => string): string[] {
  return [
    'o.id',
    'o.topic',
    'o.payload::text as payload',
    'o.key',
    'o.headers::text as headers',
    `${toMs('o.created_at')} as created_at`,
    `${toMs('nullif(o.available_at, o.created_at)')} as available_at`,
    'nullif(o.attempts, 0) as attempts',
    'nullif(o.retakes, 0) as retakes',
    'o.last_error',
    'o.max_attempts',
    'o.backoff::text as backoff',
    'o.seq::text as seq',
  ];
}

/** The columns of a row `o` just claimed. The others are null on a pending row, or known to the claimer. */
export const CLAIMED_COLUMNS = pendingColumns(floatMs).join(', ');

/** Pending rows, which the hot indexes hold. Always written the same way, so that the planner recognizes it. */
export const PENDING = 'dispatched_at is null and dead_at is null';

/**
 * The columns of a row `o`, independent of the driver and its type parsers: times in milliseconds, JSON and `seq` as
 * text.
 */
export const ROW_COLUMNS = [
  ...pendingColumns(exactMs),
  `${exactMs('o.dispatched_at')} as dispatched_at`,
  `${exactMs('o.dead_at')} as dead_at`,
  'o.dead_reason',
  'o.claim_token',
  // Other rows keep the token as a receipt.
  ...['claimed_at', 'claimed_until'].map(
    (time) => `case when ${PENDING} then ${exactMs(`o.${time}`)} end as ${time}`,
  ),
].join(', ');

/**
 * The physical places of locked rows, for `isAt`, from their `tableoid` and `ctid`. A ctid is unique only within one
 * physical table: each partition or inheriting child has its own.
 */
export const PLACES = `array_agg(ctid) as ctids, array_agg(tableoid) as tables,
          case when min(tableoid) = max(tableoid) then min(tableoid) end as only_table`;

/**
 * Whether `o` is at one of the `PLACES` in the CTE `places`, and in this state. If they are all in one physical table,
 * as without partitions, one comparison is enough. CASE forces the planner to find the rows by their ctid.
 */
export function isAt(places: string, state: string): string {
  return `o.ctid = any ((select ctids from ${places})::tid[]) and case when ${state} then
          o.tableoid = (select only_table from ${places})
          or (o.tableoid, o.ctid) in (select unnest(tables), unnest(ctids) from ${places})
        end`;
}

/** Whether the topic of a row is none of those in the array `topics`, which is a parameter. */
export function isKept(topics: string, row = ''): string {
  return `${row}topic <> all (${topics}::varchar[])`;
}

/**
 * All pending rows. Each hot index holds those with a key or those without. Only in this form does the planner see that
 * two of them together hold all, instead of scanning the table with its dispatched rows.
 */
export const ALL_PENDING = `${PENDING} and (key is null or key is not null)`;

/** The database's clock, for statements that start after any lock wait. */
export const NOW = 'statement_timestamp()';

export function nowPlusMs(parameter: string): string {
  return `${NOW} + ${parameter}::float8 * interval '1 millisecond'`;
}

export const END_CLAIM = 'claim_token = null, claimed_at = null, claimed_until = null, claimed_key = null';
