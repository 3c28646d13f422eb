/** In UTC; a TIMESTAMP would follow the session's time zone. */
export const TIME = 'datetime(6)';

/** A binary collation for all texts. This older one, which both servers have, ignores trailing spaces. */
export const TABLE_OPTIONS = 'engine = InnoDB default character set utf8mb4 collate utf8mb4_bin';

/** The servers name the exact collation differently; each reads only its own comment. */
export const EXACT =
  'character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */';
export const EXACT_COLLATIONS = ['utf8mb4_0900_bin', 'utf8mb4_nopad_bin'];
