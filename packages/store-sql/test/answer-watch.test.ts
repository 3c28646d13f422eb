import { VirtualClock } from '@postcommit/store-memory';
import { beforeEach, describe, expect, it } from 'vitest';
import { AnswerWatch, UNANSWERED_MS } from '../src/claim/answer-watch.js';

let clock: VirtualClock;
let answers: AnswerWatch;

beforeEach(() => {
  clock = new VirtualClock();
  answers = new AnswerWatch(clock);
});

describe('AnswerWatch', () => {
  it('takes it for granted until something else is seen', () => {
    expect(answers.isAnswering).toBe(true);
  });

  it('passes on what it watches', async () => {
    expect(await answers.of(Promise.resolve(1))).toBe(1);
    await expect(answers.of(Promise.reject(new Error('cut off')))).rejects.toThrow('cut off');
  });

  it('sees that an answer is late, until it is there', async () => {
    let answer: () => void = () => {};
    const late = answers.of(
      new Promise<void>((resolve) => {
        answer = resolve;
      }),
    );
    await clock.advance(UNANSWERED_MS - 1);
    expect(answers.isAnswering).toBe(true);
    await clock.advance(1);
    expect(answers.isAnswering).toBe(false);
    // Others may be answered meanwhile: the late one still waits.
    await answers.of(Promise.resolve());
    expect(answers.isAnswering).toBe(false);
    answer();
    await late;
    expect(answers.isAnswering).toBe(true);
  });

  it('sees that the last answer was an error, until the next one', async () => {
    await answers.of(Promise.reject(new Error('cut off'))).catch(() => {});
    expect(answers.isAnswering).toBe(false);
    await answers.of(Promise.resolve());
    expect(answers.isAnswering).toBe(true);
  });
});
