/**
 * Prints the url of a MariaDB or MySQL on its usual port that lets us in without a password, as on the development
 * machines; prints nothing where there is none. The tests must then have run on it.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { root } from './checkout.mjs';

const { createConnection } = createRequire(join(root, 'internal/test-database/package.json'))(
  'mysql2/promise',
);
const uri = 'mysql://root@127.0.0.1:3306';
try {
  const connection = await createConnection({ uri, connectTimeout: 3_000 });
  const [rows] = await connection.query('select version() as version');
  console.error(`${rows[0].version} listens on port 3306.`);
  console.log(uri);
  await connection.end();
} catch (error) {
  console.error(`No MariaDB or MySQL to use on port 3306: ${error.message || error.code}`);
}
