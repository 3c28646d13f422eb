/**
 * The text of whatever was thrown, with its causes: `fetch failed: connect ECONNREFUSED`. Credentials in
 * addresses are masked, characters that a database can't hold are replaced, and it is cut at 8 KiB.
 */
export declare function errorText(error: unknown): string;
