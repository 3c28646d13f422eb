/**
 * Orders are placed on a real PostgreSQL while transactions roll back, the broker fails, a dispatcher is killed and a
 * message turns out to be poison: what arrives is what committed. The closing table is read from the database; the
 * exit code is 1 if a promise did not hold. DEMO_PACE=0.2 shortens the pauses that are made for the eye.
 */
import { openDatabase } from '@internal/test-database/database';
import { Interruption } from './interruption.js';
import { wrap } from './layout.js';
import { paint } from './paint.js';
import { allHold, prove } from './proof.js';
import { proofTable } from './proof-table.js';
import { openScreen, type Screen } from './screen.js';
import { Stage } from './stage.js';
import { tellStory } from './story.js';
import { connect, createTables } from './tables.js';

async function play(
  databaseUrl: string,
  server: string,
  screen: Screen,
  signal: AbortSignal,
): Promise<boolean> {
  const pool = connect(databaseUrl);
  try {
    await createTables(pool);
    const title = `Postcommit: the transactional outbox, on ${server}`;
    screen.print([...wrap(title, screen.columns).map((line) => paint('bold', line)), '']);
    const pace = Number(process.env.DEMO_PACE ?? 1);
    const stage = new Stage({ pool, databaseUrl, screen, signal, pace });
    await tellStory(stage);
    const findings = await prove(pool, stage.producers.rolledBack);
    screen.print(proofTable(findings, screen.columns));
    return allHold(findings);
  } finally {
    await pool.end();
  }
}

const interruption = new Interruption();
const screen = openScreen(process.stdout);
try {
  const database = await openDatabase();
  try {
    const isKept = await play(database.url, database.server, screen, interruption.signal);
    const verdict = isKept
      ? 'Every committed change was announced, in order, and nothing else.'
      : 'A promise was broken.';
    screen.print(wrap(verdict, screen.columns).map((line) => paint(isKept ? 'good' : 'bad', line)));
    process.exitCode = isKept ? 0 : 1;
  } finally {
    await database.close();
  }
} catch (error) {
  // An interruption is no failure of the demo; anything else is.
  if (!interruption.signal.aborted) throw error;
} finally {
  screen.close();
  interruption.pass();
}
