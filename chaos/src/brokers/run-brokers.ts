/**
 * Brokers that are killed under load, on private instances: `npm run chaos -- --brokers`. Every committed row must be
 * at the broker afterwards, in order within its key.
 */

import { BrokerUnavailable } from '@internal/test-brokers/broker-process';
import { openDatabase } from '@internal/test-database/database';
import { BadArgument } from '../arguments.js';
import { type HitResult, runUnderHits } from './run-under-hits.js';
import { TARGETS, type TargetName } from './targets.js';

export interface BrokerRunOptions {
  readonly rows: number;
  readonly hits: number;
  /** Only these. */
  readonly only: readonly string[];
  say(text: string): void;
}

/** Returns the exit code. */
export async function runBrokers({ rows, hits, only, say }: BrokerRunOptions): Promise<number> {
  const names = (Object.keys(TARGETS) as TargetName[]).filter(
    (name) => only.length === 0 || only.includes(name),
  );
  if (names.length === 0) throw new BadArgument(`no broker is called ${only.join(' ')}`);
  let areKept = true;
  for (const name of names) {
    const result = await runOne(name, rows, hits, say);
    if (result === undefined) continue;
    say(lineOf(result));
    areKept &&= isKept(result);
  }
  return areKept ? 0 : 1;
}

async function runOne(
  name: TargetName,
  rows: number,
  hits: number,
  say: (text: string) => void,
): Promise<HitResult | undefined> {
  try {
    const target = await TARGETS[name]();
    const database = await openDatabase();
    try {
      return await runUnderHits(target, { rows, hits, databaseUrl: database.url });
    } finally {
      await database.close();
      await target.close();
    }
  } catch (error) {
    if (!(error instanceof BrokerUnavailable)) throw error;
    say(`skipped ${name}: ${error.message}`);
    return undefined;
  }
}

export function isKept({ lost, phantoms, outOfOrder, unfinished }: HitResult): boolean {
  return lost.length + phantoms.length + outOfOrder.length + unfinished === 0;
}

function lineOf(result: HitResult): string {
  const { name, fault, rows, hits, seconds, received, lost, phantoms, outOfOrder, duplicates } = result;
  const figures = [
    `${rows} rows`,
    `${hits} times ${fault}`,
    `${seconds} s`,
    `${received} received`,
    `${lost.length} lost`,
    `${phantoms.length} phantom`,
    `${outOfOrder.length} out of order`,
    `${duplicates} repeated under the same id`,
    `${result.unfinished} unfinished`,
    `${result.countedTries} tries counted`,
  ];
  return `${isKept(result) ? 'held  ' : 'BROKEN'} ${name}: ${figures.join(', ')}`;
}
