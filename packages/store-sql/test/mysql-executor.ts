import {
  mysql,
  runWork,
  type SqlExecutor,
  type SqlRecord,
  type SqlStatement,
  type SqlWork,
} from '@postcommit/store-sql';
import type { Connection, Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';

/** The shortest way onto a server: what a store on mysql2 would say. */
export function mysqlExecutor(pool: Pool): SqlExecutor<Connection> {
  return async (work, tx) => {
    if (tx) return runOn(tx, work);
    const connection = await pool.getConnection();
    try {
      return await (typeof work === 'function' ? inTransaction(connection, work) : runOn(connection, work));
    } finally {
      connection.release();
    }
  };
}

export async function queryOn(
  connection: Connection | Pool,
  { text, values }: SqlStatement,
): Promise<SqlRecord[]> {
  const [rows] = await connection.query<RowDataPacket[]>(text, [...values]);
  return Array.isArray(rows) ? rows : [];
}

async function inTransaction(connection: PoolConnection, work: SqlWork): Promise<SqlRecord[]> {
  try {
    for (const text of mysql.begin) await connection.query(text);
    const records = await runOn(connection, work);
    await connection.query('commit');
    return records;
  } catch (error) {
    await connection.query('rollback').catch(() => connection.destroy());
    throw error;
  }
}

function runOn(connection: Connection, work: SqlWork): Promise<SqlRecord[]> {
  return runWork(work, (statement) => queryOn(connection, statement));
}
