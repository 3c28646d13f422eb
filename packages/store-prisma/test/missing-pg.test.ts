import { OutboxPrismaModule, type PrismaClientLike } from '@postcommit/store-prisma';
import { expect, it, vi } from 'vitest';

vi.mock('node:module', async (original) => ({
  ...(await original<object>()),
  createRequire: () => (name: string) => {
    throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
  },
}));

const client = { $queryRawUnsafe: () => [], $connect: () => {} } as unknown as PrismaClientLike;

it('asks for pg when it is composed with a connection string, and only then', () => {
  OutboxPrismaModule.forRoot({ client });
  expect(() => OutboxPrismaModule.forRoot({ client, connectionString: 'postgres://db/app' })).toThrow(
    expect.objectContaining({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('npm install pg'),
      cause: expect.objectContaining({ code: 'MODULE_NOT_FOUND' }),
    }),
  );
});
