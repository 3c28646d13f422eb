import { endsWithin, systemClock } from '@postcommit/core/internal';
import type { DataSource } from 'typeorm';

/** How long an idle connection has to answer. */
const ANSWER_MS = 1_000;

const underWay = new WeakSet<DataSource>();

/** A connection of a driver: `end` closes one of pg, `destroy` one of mysql2, whose `end` only returns it to its pool. */
interface Closeable {
  destroy?(): void;
  end?(): Promise<void>;
  /** `destroy` of mysql2 says goodbye, and waits for the answer. */
  stream?: { destroy(): void };
}

/** Closes a connection, with any query that still runs on it. Its pool replaces it. */
export function closeConnection(connection: Closeable): void {
  if (!connection.destroy) {
    connection.end?.().catch(() => {});
    return;
  }
  connection.destroy();
  connection.stream?.destroy();
}

/**
 * A connection seldom turns silent alone, and each further one would cost the limit of a statement. So all that are idle
 * now are asked at once, and those that don't answer are closed. Never rejects.
 */
export function replaceSilentConnections(dataSource: DataSource): void {
  if (underWay.has(dataSource)) return;
  underWay.add(dataSource);
  const asked = Array.from({ length: idleCount(dataSource) }, () => ask(dataSource));
  void Promise.allSettled(asked).then(() => underWay.delete(dataSource));
}

/** 0 if the driver does not say. */
function idleCount({ driver }: DataSource): number {
  const { master, pool } = driver as {
    readonly master?: { readonly idleCount?: number };
    readonly pool?: { readonly _freeConnections?: { readonly length: number } };
  };
  return master?.idleCount ?? pool?._freeConnections?.length ?? 0;
}

async function ask(dataSource: DataSource): Promise<void> {
  const queryRunner = dataSource.createQueryRunner();
  try {
    const connection: object = await queryRunner.connect();
    const answers = await endsWithin(ANSWER_MS, queryRunner.query('select 1'), systemClock).catch(
      () => false,
    );
    if (!answers) closeConnection(connection);
  } finally {
    await queryRunner.release();
  }
}
