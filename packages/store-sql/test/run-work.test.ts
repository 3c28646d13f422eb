import {
  runWork,
  runWorkAtOnce,
  type SqlRecord,
  type SqlStatement,
  type SqlWork,
} from '@postcommit/store-sql';
import { describe, expect, it } from 'vitest';

/** Both ways of running, as one that can be awaited. */
const RUNNERS: Readonly<Record<string, (work: SqlWork, run: Run) => Promise<SqlRecord[]>>> = {
  runWork: (work, run) => runWork(work, async (statement) => run(statement)),
  runWorkAtOnce: async (work, run) => runWorkAtOnce(work, run),
};

type Run = (statement: SqlStatement) => SqlRecord[];

const sql = (text: string): SqlStatement => ({ text, values: [] });

describe.each(Object.entries(RUNNERS))('%s', (_name, runAll) => {
  let sent: string[];

  /** Answers with the text of the statement, and refuses some. */
  function server(...refused: string[]): Run {
    sent = [];
    return ({ text }) => {
      sent.push(text);
      if (refused.includes(text)) throw new Error(`${text} failed`);
      return [{ text }];
    };
  }

  it('runs a statement and returns its records', async () => {
    expect(await runAll(sql('one'), server())).toEqual([{ text: 'one' }]);
    expect(sent).toEqual(['one']);
  });

  it('passes each step the records of the previous one, and returns the result of the last', async () => {
    const records = await runAll(function* () {
      const [first] = yield sql('first');
      const [second] = yield sql(`after ${String(first?.text)}`);
      return [{ whole: second?.text }];
    }, server());
    expect(records).toEqual([{ whole: 'after first' }]);
    expect(sent).toEqual(['first', 'after first']);
  });

  it('steps without work send nothing', async () => {
    // biome-ignore lint/correctness/useYield: that is what it is about.
    const nothing: SqlWork = function* () {
      return [{ n: 1 }];
    };
    expect(await runAll(nothing, server())).toEqual([{ n: 1 }]);
    expect(sent).toEqual([]);
  });

  it('can run the same work again from the start', async () => {
    const work: SqlWork = function* () {
      yield sql('lock');
      return yield sql('claim');
    };
    const run = server();
    await runAll(work, run);
    await runAll(work, run);
    expect(sent).toEqual(['lock', 'claim', 'lock', 'claim']);
  });

  it('throws an error at the yielded statement: nothing after it is sent', async () => {
    const work: SqlWork = function* () {
      yield sql('first');
      yield sql('second');
      return yield sql('third');
    };
    await expect(runAll(work, server('second'))).rejects.toThrow('second failed');
    expect(sent).toEqual(['first', 'second']);
  });

  it('lets the steps catch an error and continue', async () => {
    const work: SqlWork = function* () {
      try {
        yield sql('insert');
      } catch (error) {
        return yield sql(`instead of ${String(error)}`);
      }
      return [];
    };
    const text = 'instead of Error: insert failed';
    expect(await runAll(work, server('insert'))).toEqual([{ text }]);
    expect(sent).toEqual(['insert', text]);
  });

  it('runs the statements of a finally block, then fails with the first error', async () => {
    const work: SqlWork = function* () {
      yield sql('lock');
      try {
        return yield sql('mend');
      } finally {
        yield sql('unlock');
      }
    };
    await expect(runAll(work, server('mend'))).rejects.toThrow('mend failed');
    expect(sent).toEqual(['lock', 'mend', 'unlock']);
    expect(await runAll(work, server())).toEqual([{ text: 'mend' }]);
    expect(sent).toEqual(['lock', 'mend', 'unlock']);
  });

  it('fails with the error of the finally block if that fails, too', async () => {
    const work: SqlWork = function* () {
      try {
        return yield sql('mend');
      } finally {
        yield sql('unlock');
      }
    };
    await expect(runAll(work, server('mend', 'unlock'))).rejects.toThrow('unlock failed');
  });

  it('fails with an error that the steps throw', async () => {
    const work: SqlWork = function* () {
      yield sql('look');
      throw new Error('not what it should be');
    };
    await expect(runAll(work, server())).rejects.toThrow('not what it should be');
    expect(sent).toEqual(['look']);
  });
});
