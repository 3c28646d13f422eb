import type { Block } from './pages.js';

/** A `ts` block that can't be compiled as it stands, and what holds it true instead. */
interface Exception {
  readonly page: string;
  /** Some text of the block. */
  readonly containing: string;
  readonly reason: string;
}

export const exceptions: readonly Exception[] = [
  {
    page: 'docs/guides/nestjs.md',
    containing: 'this.health.check',
    reason: 'a line out of a method; packages/nestjs/test/guide-snippets.test.ts runs it word for word',
  },
];

export function isExcepted({ page, code }: Block): boolean {
  return exceptions.some((exception) => exception.page === page && code.includes(exception.containing));
}
