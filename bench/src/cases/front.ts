import type { Case, Setting } from '../case.js';
import { drain } from '../drain.js';
import { inKeptPlace } from '../kept-place.js';
import { joined, linesFor, scaled } from '../lines.js';
import { count } from '../statistics.js';
import { BESIDE, type Place } from '../subject.js';
import { AWAY, LIMITED, PAUSED, postcommitPgFront } from '../subjects/postcommit-pg-front.js';

const FREE = 'nothing in front';
const COLUMNS: ReadonlyArray<readonly [column: string, topic: string | undefined]> = [
  [FREE, undefined],
  ['a paused topic', PAUSED],
  ['a limited topic', LIMITED],
  ['a destination that is away', AWAY],
];

/** What rows cost that can't be published now, and are older than all others. */
export function frontCase(setting: Setting): Case {
  const rows = scaled(setting, 100_000);
  const inFront = scaled(setting, 1_000_000);
  const limitMs = scaled(setting, 15_000, 5_000);
  const parts = COLUMNS.map(([column, topic]) =>
    linesFor(setting, [postcommitPgFront], [column], ['consume'], (subject) => ({
      seconds: 20,
      ...inKeptPlace(
        subject,
        async () => {},
        async (place, round, note) => {
          if (round === 0 && topic !== undefined) await putInFront(place, topic, inFront);
          const work = { rows, limitMs, firstOrder: round * rows, beside: async () => {} };
          return { [column]: (await drain(subject, place, work, note)).rate };
        },
      ),
    })),
  );
  return {
    id: 'front',
    title: `Draining ${count(rows)} rows behind others that must wait`,
    about: `${count(inFront)} older rows stand in front: of a topic that is paused, of one that may have 50 rows a second, or of a route whose destination refuses connections. The rate is that of the other rows.`,
    columns: COLUMNS.map(([name]) => ({ name, unit: 'rows/s' })),
    ...joined(parts),
    targets: COLUMNS.slice(1).map(([column]) => ({
      of: [postcommitPgFront.name, column] as const,
      to: [postcommitPgFront.name, FREE] as const,
      atLeast: 0.9,
    })),
  };
}

async function putInFront({ pool }: Place, topic: string, rows: number): Promise<void> {
  await pool.query(
    `insert into outbox (id, topic, payload)
     select 'front-' || n, $1::varchar, jsonb_build_object('orderId', $2::bigint + n, 'note', repeat('x', 160))
     from generate_series(1, $3::int) n`,
    [topic, BESIDE, rows],
  );
  if (topic === PAUSED) await pool.query('insert into outbox_paused (topic) values ($1)', [topic]);
}
