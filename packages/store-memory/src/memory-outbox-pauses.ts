import { OutboxPauses } from '@postcommit/core';
import type { PausedTopic } from '@postcommit/core/internal';
import type { MemoryTable } from './memory-table.js';

/** Keeps the paused topics of a table in memory. */
export class MemoryOutboxPauses extends OutboxPauses {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    super();
    this.#table = table;
  }

  async pause(topic: string): Promise<boolean> {
    const { pauses } = this.#table;
    if (pauses.has(topic)) return false;
    pauses.set(topic, this.#table.now());
    return true;
  }

  async resume(topic: string): Promise<boolean> {
    return this.#table.pauses.delete(topic);
  }

  async list(): Promise<PausedTopic[]> {
    const nowMs = this.#table.now();
    return [...this.#table.pauses]
      .map(([topic, pausedAt]) => ({ topic, sinceMs: nowMs - pausedAt }))
      .sort((a, b) => (a.topic < b.topic ? -1 : 1));
  }
}
