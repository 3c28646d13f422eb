import { MemoryOutboxStore } from '@postcommit/store-memory';
import type { OutboxFixture } from '@postcommit/store-testkit';
import { describe, expect, it } from 'vitest';
import { openMemoryOutbox } from '../../store-memory/test/open-memory-outbox.js';
import { behaviourGroups } from '../src/behaviour-groups.js';
import { mutants } from './mutants.js';

type CreateStore = Parameters<typeof openMemoryOutbox>[0];

const behaviours = Object.assign({}, ...behaviourGroups.map((group) => group.behaviours)) as Record<
  string,
  (outbox: OutboxFixture) => Promise<void>
>;

/** The behaviours that a store fails. */
async function failures(createStore?: CreateStore): Promise<string[]> {
  const failed: string[] = [];
  for (const [sentence, behaviour] of Object.entries(behaviours)) {
    await behaviour(openMemoryOutbox(createStore) as unknown as OutboxFixture).catch(() =>
      failed.push(sentence),
    );
  }
  return failed;
}

describe('the testkit itself', () => {
  it('finds nothing wrong with the reference store', async () => {
    expect(await failures((options) => new MemoryOutboxStore(options))).toEqual([]);
  });

  it('has no two behaviours of the same name', () => {
    const sentences = behaviourGroups.flatMap((group) => Object.keys(group.behaviours));
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  for (const { defect, caughtBy, create } of mutants) {
    it(`catches a store that ${defect}`, async () => {
      expect(Object.keys(behaviours)).toContain(caughtBy);
      expect(await failures((options) => create(options as Parameters<typeof create>[0]))).toContain(
        caughtBy,
      );
    });
  }
});
