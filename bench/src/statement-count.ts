import pg from 'pg';

/** How many statements all clients of `pg` in this process send during `work`, BEGIN and COMMIT included. */
export async function countStatements(work: () => Promise<unknown> | undefined): Promise<number> {
  const { prototype } = pg.Client;
  const original = prototype.query;
  let sent = 0;
  prototype.query = function query(this: pg.Client, ...args: unknown[]) {
    sent += 1;
    return Reflect.apply(original, this, args);
  } as typeof original;
  try {
    await work();
  } finally {
    prototype.query = original;
  }
  return sent;
}
