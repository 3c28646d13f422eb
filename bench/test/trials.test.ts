import { describe, expect, it } from 'vitest';
import type { Case, Cells, Trial } from '../src/case.js';
import type { OpenPlace, Server } from '../src/place.js';
import { runTrials } from '../src/trials.js';

/** A server whose databases are only names, and which remembers what became of them. */
class RecordingServer implements Server {
  readonly version = 'none';
  readonly dropped: string[] = [];
  #opened = 0;

  async open(): Promise<OpenPlace> {
    this.#opened += 1;
    const name = `place-${this.#opened}`;
    const drop = async (): Promise<void> => {
      this.dropped.push(name);
    };
    return { name, drop } as OpenPlace;
  }

  async stop(): Promise<void> {}

  get opened(): number {
    return this.#opened;
  }
}

const trial = (line: string, run: Trial['run'], prepare?: Trial['prepare']): Trial => ({
  line,
  columns: ['c'],
  seconds: 0,
  run,
  ...(prepare && { prepare }),
});

const caseOf = (...trials: Trial[]): Case => ({
  id: 'x',
  title: 'x',
  about: '',
  columns: [{ name: 'c', unit: 'rows/s' }],
  trials,
  targets: [],
});

describe('rounds', () => {
  it('take turns, each starting with another line, and each with a new database', async () => {
    const server = new RecordingServer();
    const seen: string[] = [];
    const remember = (line: string) =>
      trial(line, async ({ name }) => {
        seen.push(`${line} ${name}`);
        return { c: seen.length };
      });
    const results = await runTrials(server, caseOf(remember('a'), remember('b')), 2);
    expect(seen).toEqual(['a place-1', 'b place-2', 'b place-3', 'a place-4']);
    expect(results).toEqual([
      { line: 'a', cells: { c: [1, 4] }, notes: [] },
      { line: 'b', cells: { c: [2, 3] }, notes: [] },
    ]);
    expect(server.dropped).toHaveLength(4);
  });

  it('share one database if it takes long to prepare, and prepare it once', async () => {
    const server = new RecordingServer();
    const prepared: string[] = [];
    const slow = trial(
      'a',
      async () => ({ c: 1 }),
      async ({ name }) => {
        prepared.push(name);
      },
    );
    await runTrials(server, caseOf(slow), 3);
    expect(prepared).toEqual(['place-1']);
    expect(server).toMatchObject({ opened: 1, dropped: ['place-1'] });
  });

  it('continue if one fails, which its cell says, and leave no database behind', async () => {
    const server = new RecordingServer();
    const failing = trial('a', async () => {
      throw new Error('lost a row');
    });
    const unprepared = trial(
      'b',
      async () => ({ c: 1 }),
      async () => {
        throw new Error('no room');
      },
    );
    const fine = trial('c', async () => ({ c: 1 }));
    const results = await runTrials(server, caseOf(failing, unprepared, fine), 1);
    expect(results.map(({ cells }) => cells.c)).toEqual(['failed: lost a row', 'failed: no room', [1]]);
    expect([...server.dropped].sort()).toEqual(['place-1', 'place-2', 'place-3']);
  });

  it('that end in words once have no median', async () => {
    const answers: Cells[] = [{ c: 1 }, { c: '8 of 200 arrived' }, { c: 3 }];
    const line = trial('a', async () => answers.shift() ?? {});
    const [result] = await runTrials(new RecordingServer(), caseOf(line), 3);
    expect(result?.cells).toEqual({ c: '8 of 200 arrived' });
  });
});
