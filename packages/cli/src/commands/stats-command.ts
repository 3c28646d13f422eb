import { OutboxStore } from '@postcommit/core';
import type { DeadCount } from '@postcommit/core/internal';
import { noteJson, noteLine, noteTexts } from '../note-format.js';
import { takeNotes } from '../notes.js';
import type { OutboxCommand } from '../outbox-command.js';
import { formatTable } from '../table.js';

/** Pairs of topic and reason that are shown: those with the most dead rows. */
const MOST_DEAD_COUNTS = 20;

export const statsCommand: OutboxCommand = {
  name: 'outbox:stats',
  description: 'Count the rows by state, and say what holds them up',
  async run({ app, output }) {
    const store = app.get(OutboxStore);
    const { pending, dispatched, dead, total } = await store.count();
    const deadRows = output.mode === 'plain' || dead === 0 ? [] : await store.countDead(MOST_DEAD_COUNTS);
    const notes = await takeNotes(app);
    output.show({
      plain: [
        `outbox:stats pending=${pending} dispatched=${dispatched} dead=${dead} total=${total}`,
        ...noteTexts(notes).map(noteLine),
      ],
      json: { pending, dispatched, dead, total, deadRows, ...noteJson(notes) },
      terminal: (columns) => [
        ...formatTable(
          ['pending', 'dispatched', 'dead', 'total'],
          [[pending, dispatched, dead, total].map(String)],
          columns,
        ),
        ...deadTable(deadRows, columns),
        ...noteTexts(notes),
      ],
    });
  },
};

function deadTable(counts: readonly DeadCount[], columns: number): string[] {
  if (counts.length === 0) return [];
  const lines = counts.map(({ topic, reason = '', count }) => [String(count), reason, topic]);
  return ['', ...formatTable(['dead', 'reason', 'topic'], lines, columns)];
}
