import { describe, expect, it } from 'vitest';
import { OptionTypes } from './option-types.js';
import { codeIn, tableUnder } from './tables.js';

const README = 'packages/inbox/README.md';
const types = new OptionTypes(['inbox']);

describe.each([
  { heading: '`handleOnce(processed, tx, { consumer, id }, handler)`', type: 'Handling' },
  { heading: '`webhookReceiver(options)`', type: 'WebhookReceiverOptions' },
])('the README of the inbox, under $heading', ({ heading, type }) => {
  const rows = tableUnder(README, heading);

  it('lists every option, and no other', () => {
    const options = rows.flatMap(({ option }) => codeIn(option));
    expect(options.sort()).toEqual(types.namesOf('inbox', type, []).sort());
  });

  it('has the defaults that the types name', () => {
    const shown = new Map(rows.map((row) => [codeIn(row.option)[0], row.default]));
    for (const [option, text] of types.defaultsOf('inbox', type))
      expect(codeIn(shown.get(option))).toEqual([text]);
  });
});

it('the README of the inbox lists every answer', () => {
  const listed = tableUnder(README, 'What it answers').map(({ answer }) => Number(answer));
  expect(listed.sort()).toEqual([200, 204, 400, 401, 408, 413, 422, 503]);
});
