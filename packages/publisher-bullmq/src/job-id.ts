/** Integers are for BullMQ's own ids, and these names for its own keys: `wait`, `meta`, `stalled-check`. */
const TAKEN = /^(?:-?\d{1,255}|[a-z-]{1,255})$/i;

/** The id of a row's job. BullMQ refuses integers, and `:`. UUIDs stay as they are. */
export function jobIdOf(rowId: string): string {
  const escaped = rowId.replace(/[%:]/g, escapedCharacter);
  return TAKEN.test(escaped) ? `${escapedCharacter(escaped.slice(0, 1))}${escaped.slice(1)}` : escaped;
}

/** The id of the row that a job was made of: the idempotency key of its worker. */
export function rowIdOf(jobId: string): string {
  return decodeURIComponent(jobId);
}

/** Ids are printable ASCII. */
function escapedCharacter(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
