import { describe, expect, it } from 'vitest';
import { OptionTypes } from './option-types.js';
import { codeIn, type TableRow, tableUnder } from './tables.js';

/** The publishers, and the type of their options. */
const publishers = [
  { name: 'publisher-webhook', type: 'WebhookOptions' },
  { name: 'publisher-rabbitmq', type: 'RabbitmqPublisherOptions' },
  { name: 'publisher-nats', type: 'NatsPublisherOptions' },
  { name: 'publisher-kafka', type: 'KafkaPublisherOptions' },
] as const;

const types = new OptionTypes(publishers.map(({ name }) => name));

describe.each(publishers)('the README of $name', ({ name, type }) => {
  const rows = tableUnder(`packages/${name}/README.md`, 'Options');
  const optionsOf = ({ option }: TableRow): string[] => codeIn(option);

  it('lists every option, and no other', () => {
    // `declare.partitions` is an option of the option `declare`.
    const names = rows.flatMap(optionsOf).filter((option) => !option.includes('.'));
    expect(names.sort()).toEqual(types.namesOf(name, type, []).sort());
  });

  it('has the numbers and words that the types name as defaults', () => {
    const known = types.defaultsOf(name, type);
    const shown = rows.flatMap((row) => {
      const [value] = codeIn(row.default);
      return value === undefined ? [] : optionsOf(row).map((option) => [option, value]);
    });
    const expected = shown.map(([option = '']) => [option, firstValue(known.get(option))]);
    expect(shown).toEqual(expected);
  });
});

/** `true for an address of yours`: only the value is compared, without its backticks. */
function firstValue(text = 'nothing'): string | undefined {
  return codeIn(text)[0] ?? /^(?:'[^']*'|[^\s,:;]+)/.exec(text)?.[0];
}
