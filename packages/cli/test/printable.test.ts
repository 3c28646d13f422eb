import type { OutboxRow } from '@postcommit/core';
import { seededRandom } from '@postcommit/store-memory';
import { describe, expect, it } from 'vitest';
import { failureLine } from '../src/command-error.js';
import { jsonText, printable, quoted, word } from '../src/printable.js';
import { rowJson, rowLine, rowTable } from '../src/row-format.js';
import { hostile, unseen } from './hostile-text.js';

const RUNS = 500;

function forManyTexts(check: (text: string, seed: number) => void): void {
  for (let seed = 1; seed <= RUNS; seed++) check(hostile(seededRandom(seed)), seed);
}

describe('printable', () => {
  it('leaves no character that a terminal interprets or a reader can’t see', () => {
    forManyTexts((text, seed) => expect(printable(text), `seed ${seed}`).not.toMatch(unseen));
  });

  it('is idempotent', () => {
    forManyTexts((text) => expect(printable(printable(text))).toBe(printable(text)));
  });

  it.each([
    ['order.paid', 'order.paid'],
    ['größe 東京 €', 'größe 東京 €'],
    ['a\nb\tc\r', 'a\\nb\\tc\\r'],
    ['\u001b[31mred\u001b[0m', '\\u001b[31mred\\u001b[0m'],
    ['\u009b31m', '\\u009b31m'],
    ['user\u202egpj.exe', 'user\\u202egpj.exe'],
    ['\u2028', '\\u2028'],
    ['\ud800', '\\ud800'],
    ['\u{e0041}', '\\udb40\\udc41'],
  ])('prints %j as %s', (text, printed) => {
    expect(printable(text)).toBe(printed);
  });
});

describe('quoted and jsonText', () => {
  it('can be parsed as JSON, and hide nothing', () => {
    forManyTexts((text) => {
      expect(JSON.parse(quoted(text))).toBe(text);
      expect(JSON.parse(jsonText({ [text]: [text] }))).toEqual({ [text]: [text] });
      expect(jsonText({ [text]: [text] })).not.toMatch(unseen);
    });
  });

  it('print values without JSON as null', () => {
    expect(jsonText(undefined)).toBe('null');
  });
});

describe('word', () => {
  it.each([
    ['order.refunded', 'order.refunded'],
    ['a=b', 'a=b'],
    ['two words', '"two words"'],
    ['', '""'],
    ['say "hi"', '"say \\"hi\\""'],
    ['back\\slash', '"back\\\\slash"'],
    ['bell\u0007', '"bell\\u0007"'],
  ])('prints %j as %s', (text, printed) => {
    expect(word(text)).toBe(printed);
  });

  it('is one word, or quoted', () => {
    forManyTexts((text) => expect(word(text)).toMatch(/^([^\s"]+|".*")$/u));
  });
});

describe('a row with any content', () => {
  const rowOf = (text: string): OutboxRow => ({
    id: text,
    topic: text,
    key: text,
    lastError: text,
    payload: { [text]: text },
    headers: { [text]: text },
    createdAt: new Date(0),
    availableAt: new Date(0),
    attempts: 1,
    retakes: 0,
    retry: {},
  });

  it('is printed in one line, or in a table in one line plus one for its payload', () => {
    forManyTexts((text) => {
      expect(rowLine(rowOf(text), { payload: true })).not.toMatch(unseen);
      const table = rowTable([rowOf(text)], 80, { payload: true });
      expect(table).toHaveLength(3);
      for (const line of table) expect(line).not.toMatch(unseen);
    });
  });

  it('is printed as JSON that can be parsed', () => {
    forManyTexts((text) => {
      const json = jsonText(rowJson(rowOf(text), { payload: true }));
      expect(json).not.toMatch(unseen);
      expect(JSON.parse(json)).toMatchObject({ id: text, topic: text, payload: { [text]: text } });
    });
  });
});

it('an error is printed in one line, whatever its message', () => {
  forManyTexts((text) => {
    expect(failureLine(new Error(text, { cause: text }))).not.toMatch(unseen);
  });
});
