/** The driver with its types, for the repository's own programs and tests. */
export { createConnection } from 'mysql2/promise';
