/**
 * Orders are placed on a real PostgreSQL while transactions roll back, the broker fails, a dispatcher is killed and a
 * message turns out to be poison: what arrives is what committed. The closing table is read from the database; the
 * exit code is 1 if a promise did not hold. DEMO_PACE=0.2 shortens the pauses that are made for the eye.
 */
import { openDatabase } from '@internal/test-database/database';
import { BadArgument, type DemoArguments, readArguments, USAGE } from './arguments.js';
import { Broker } from './broker.js';
import { BrokerBehindLedger } from './brokers/broker-behind-ledger.js';
import { BrokerMissing } from './brokers/real-broker.js';
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
  brokerName: DemoArguments['broker'],
): Promise<boolean> {
  const pool = connect(databaseUrl);
  let real: BrokerBehindLedger | undefined;
  try {
    await createTables(pool);
    real = brokerName && (await BrokerBehindLedger.open(pool, brokerName));
    const title = `Postcommit: the transactional outbox, on ${server}${real ? `, to ${real.title}` : ''}`;
    screen.print([...wrap(title, screen.columns).map((line) => paint('bold', line)), '']);
    const pace = Number(process.env.DEMO_PACE ?? 1);
    const environment = {
      DEMO_DATABASE_URL: databaseUrl,
      ...(real && { DEMO_BROKER: JSON.stringify(real.address) }),
    };
    const stage = new Stage({ pool, broker: real ?? new Broker(pool), environment, screen, signal, pace });
    await tellStory(stage);
    const findings = await prove(pool, stage.producers.rolledBack);
    screen.print(proofTable(findings, screen.columns));
    return allHold(findings);
  } finally {
    await real?.close();
    await pool.end();
  }
}

async function main({ broker }: DemoArguments): Promise<void> {
  const interruption = new Interruption();
  const screen = openScreen(process.stdout);
  try {
    const database = await openDatabase();
    try {
      const isKept = await play(database.url, database.server, screen, interruption.signal, broker);
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
}

/** Mistakes of the caller, with what to do; nobody needs their stack. */
function explain(error: unknown): void {
  if (!(error instanceof BadArgument || error instanceof BrokerMissing)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}\n`);
  process.exitCode = 2;
}

try {
  const given = readArguments(process.argv.slice(2));
  if (given.help) process.stdout.write(`${USAGE}\n`);
  else await main(given);
} catch (error) {
  explain(error);
}
