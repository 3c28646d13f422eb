import { blocksOf } from './pages.js';

/** Every whole program that a page shows, by the file that it is. */
export const PROGRAMS: ReadonlyArray<readonly [page: string, file: string]> = [
  ['README.md', 'src/main.ts'],
  ['README.md', 'src/typeorm.ts'],
  ['README.md', 'src/prisma.ts'],
  ['docs/start/pg.md', 'src/main.ts'],
  ['docs/start/typeorm.md', 'src/main.ts'],
  ['docs/start/prisma.md', 'src/main.ts'],
  ['docs/guides/pg.md', 'src/worker.ts'],
];

const prismaClient = "export * from '../../../../../packages/store-prisma/test/gen/client.js';\n";

/** What the reader's migration makes, or `prisma db push`. */
export const ORDERS = 'create table if not exists orders (id text primary key, status text not null)';

export function mainOf(page: string, file = 'src/main.ts'): string {
  const block = blocksOf(page).find(({ code }) => code.startsWith(`// ${file}\n`));
  if (!block) throw new Error(`${page} shows no ${file}`);
  return block.code;
}

/** The files that a program needs beside itself. */
export function filesOf(main: string): Record<string, string> {
  return { 'src/main.ts': main, 'src/generated/prisma/client.ts': prismaClient };
}
