import { describe, expect, it } from 'vitest';
import { OptionTypes } from './option-types.js';
import { codeIn, type TableRow, tableUnder } from './tables.js';

/** The publishers, and the type of their options. */
const publishers = [
  { name: 'publisher-webhook', type: 'WebhookOptions' },
  { name: 'publisher-rabbitmq', type: 'RabbitmqPublisherOptions' },
  { name: 'publisher-nats', type: 'NatsPublisherOptions' },
  { name: 'publisher-kafka', type: 'KafkaPublisherOptions' },
  { name: 'publisher-redis', type: 'RedisPublisherOptions' },
  { name: 'publisher-bullmq', type: 'BullmqPublisherOptions' },
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

  it('has the defaults that the types name', () => {
    const shown = new Map(
      rows.flatMap((row) => optionsOf(row).map((option) => [option, row.default] as const)),
    );
    for (const [option, text] of types.defaultsOf(name, type)) {
      const value = plainValue(text);
      if (value !== undefined) expect(codeIn(shown.get(option)), option).toContain(value);
    }
  });
});

/** `10`, `'postcommit'` or `false`, also if a remark follows; undefined for a default in words. */
function plainValue(text: string): string | undefined {
  return /^(\d[\d_]*|'[^']*'|true|false)(?::|$)/.exec(text)?.[1];
}
