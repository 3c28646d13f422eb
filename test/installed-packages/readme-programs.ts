import { readFileSync } from 'node:fs';

/** What the README leaves to its reader: an order, a data source and a broker. */
const BEFORE = {
  imports: `import { EventEmitter, once } from 'node:events';
import { DataSource, EntitySchema } from 'typeorm';`,
  code: `const Order = new EntitySchema({
  name: 'Order',
  tableName: 'orders',
  columns: { id: { type: String, primary: true }, status: { type: String } },
});
const dataSource = await new DataSource({
  type: 'postgres',
  url: process.env.DATABASE_URL ?? '',
  entities: [Order],
  synchronize: true,
}).initialize();
const id = 'order-7';
await dataSource.getRepository(Order).insert({ id, status: 'new' });
const sent = new EventEmitter();
const firstMessage = once(sent, 'message');
`,
};

const BROKER = `const broker = {
  async send(topic, payload, { messageId }) {
    sent.emit('message', { topic, payload, messageId });
  },
};
`;

const TYPED_BROKER = BROKER.replace(
  '(topic, payload, { messageId })',
  '(topic: string, payload: unknown, { messageId }: { messageId: string }): Promise<void>',
);

const AFTER = `
const [{ topic, payload, messageId }] = await firstMessage;
await app.stop();
const { status } = await dataSource.getRepository(Order).findOneByOrFail({ id });
const { dispatched, total } = await app.get(TypeormOutboxStore).count();
await dataSource.destroy();
console.log(JSON.stringify({ topic, payload, hasId: messageId.length > 0, status, dispatched, total }));
`;

/** What each of the programs prints. */
export const PRINTED = {
  topic: 'order.paid',
  payload: { id: 'order-7' },
  hasId: true,
  status: 'paid',
  dispatched: 1,
  total: 1,
};

/** The first TypeScript block of the README, as a program, by file name. */
export function readmePrograms(): Record<string, string> {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [, block = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  const imports = block.match(/^import .*;$/gm) ?? [];
  if (imports.length === 0) throw new Error('The first TypeScript block of README.md imports nothing.');
  const code = block.replace(/^import .*;\n/gm, '');
  const allImports = [BEFORE.imports, ...imports].join('\n');
  const program = (broker: string): string => BEFORE.code + broker + code + AFTER;
  // A CommonJS file has no await at its top.
  const inMain = (text: string): string => `async function main() {\n${text}}\nvoid main();\n`;
  return {
    'typed.mts': `${allImports}\n${program(TYPED_BROKER)}`,
    'typed.cts': `${allImports}\n${inMain(program(TYPED_BROKER))}`,
    'plain.mjs': `${allImports}\n${program(BROKER)}`,
    'plain.cjs': `${allImports.replace(/^import (.*) from (.*);$/gm, 'const $1 = require($2);')}\n${inMain(program(BROKER))}`,
  };
}
