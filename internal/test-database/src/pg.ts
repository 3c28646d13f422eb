/** The driver with its types, for the repository's own programs and tests. */
export { default } from 'pg';
