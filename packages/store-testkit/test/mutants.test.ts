import { MemoryOutboxStore } from '@postcommit/store-memory';
import type { OutboxFixture } from '@postcommit/store-testkit';
import { describe, expect, it } from 'vitest';
import { type MemoryParts, openMemoryOutbox } from '../../store-memory/test/open-memory-outbox.js';
import { behaviourGroups } from '../src/behaviour-groups.js';
import { mutants } from './mutants.js';

const behaviours = Object.assign({}, ...behaviourGroups.map((group) => group.behaviours)) as Record<
  string,
  (outbox: OutboxFixture) => Promise<void>
>;

/** The behaviours that a store fails. */
async function failures(parts: MemoryParts): Promise<string[]> {
  const failed: string[] = [];
  for (const [sentence, behaviour] of Object.entries(behaviours)) {
    await behaviour(openMemoryOutbox(parts) as unknown as OutboxFixture).catch(() => failed.push(sentence));
  }
  return failed;
}

describe('the testkit itself', () => {
  it('finds nothing wrong with the reference store', async () => {
    expect(await failures({ createStore: (options) => new MemoryOutboxStore(options) })).toEqual([]);
  });

  it('has no two behaviours of the same name', () => {
    const sentences = behaviourGroups.flatMap((group) => Object.keys(group.behaviours));
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  for (const { defect, caughtBy, parts } of mutants) {
    it(`catches a store that ${defect}`, async () => {
      expect(Object.keys(behaviours)).toContain(caughtBy);
      expect(await failures(parts)).toContain(caughtBy);
    });
  }
});
