import { existsSync, readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { type ApiReport, apiReportPath, apiReports } from './reports/api-report.js';
import { type SizeReport, sizeReport, sizeReportPath } from './reports/size-report.js';

/** More names than this, and nobody can learn them: what only siblings need goes to `@postcommit/core/internal`. */
const MOST_NAMES = 220;
/** Of a publisher, of which an application needs one: its function, its module, and the types of their options. */
const MOST_NAMES_OF_A_PUBLISHER = 12;
/** Of the inbox, which is for those who consume. */
const MOST_NAMES_OF_THE_INBOX = 15;
/** How far a size may be from the one that was checked in. */
const TOLERANCE = 0.05;

const REWRITE =
  'If the change is meant, run `node scripts/run.mjs pnpm build && node scripts/run.mjs pnpm reports`, and commit what it writes.';
const patience = { timeout: 120_000 };
let reports: readonly ApiReport[];

beforeAll(() => {
  reports = apiReports();
}, patience.timeout);

it('the public names and their declarations are those that were checked in', () => {
  const checkedIn = reports.map(({ folder }) =>
    existsSync(apiReportPath(folder)) ? readFileSync(apiReportPath(folder), 'utf8') : '',
  );
  expect(
    reports.map(({ text }) => text).join('\n'),
    `packages/*/api.txt differ from the source. ${REWRITE}`,
  ).toBe(checkedIn.join('\n'));
});

it('the public names are few enough to learn', () => {
  const others = reports.filter(({ folder }) => !isBrokerPublisher(folder) && folder !== 'inbox');
  const total = others.reduce((sum, { names }) => sum + names, 0);
  expect(total, 'the names of all packages but the publishers and the inbox').toBeLessThanOrEqual(MOST_NAMES);
  for (const { folder, names } of reports.filter(({ folder }) => isBrokerPublisher(folder)))
    expect(names, `the names of ${folder}`).toBeLessThanOrEqual(MOST_NAMES_OF_A_PUBLISHER);
  const inbox = reports.find(({ folder }) => folder === 'inbox');
  expect(inbox?.names, 'the names of the inbox').toBeLessThanOrEqual(MOST_NAMES_OF_THE_INBOX);
});

function isBrokerPublisher(folder: string): boolean {
  return folder.startsWith('publisher-') && folder !== 'publisher-events';
}

it(`the sizes are within ${TOLERANCE * 100} % of those that were checked in`, patience, async () => {
  const checkedIn = JSON.parse(readFileSync(sizeReportPath, 'utf8')) as SizeReport;
  const found = await sizeReport();
  expect(Object.keys(found), REWRITE).toEqual(Object.keys(checkedIn));
  const grown = Object.entries(found).filter(([name, { minified, gzipped }]) => {
    const known = checkedIn[name];
    return !known || isFar(minified, known.minified) || isFar(gzipped, known.gzipped);
  });
  expect(Object.fromEntries(grown), `sizes in bytes that differ. ${REWRITE}`).toEqual({});
});

function isFar(found: number, known: number): boolean {
  return Math.abs(found - known) > known * TOLERANCE;
}
