import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPacked } from '../packaging/packed-packages.js';
import { compile, type Fixture, type Project, readFixtures } from './compile.js';

const patience = { timeout: 60_000 };
const packages = [
  'core',
  'store-memory',
  'store-pg',
  'store-prisma',
  'store-sql',
  'store-testkit',
  'store-typeorm',
].map((name) => `@postcommit/${name}`);

/** What a user's node_modules hold beside the packages. */
const drivers = {
  '@types/node': '../../node_modules/@types/node',
  '@types/pg': '../node_modules/@types/pg',
  typeorm: '../node_modules/typeorm',
  'generated-client': '../../packages/store-prisma/test/gen',
};

/** Fixtures that share a program see the same topics and the same options; each line is compiled on its own. */
const programs = [
  {
    title: 'applications without topics',
    fixtures: ['no-topics.ts', 'entries.ts', 'transactions.ts', 'modules.ts', 'errors.ts', 'testkit.ts'],
  },
  { title: 'applications with topics', fixtures: ['topics.ts', 'schemas.ts'] },
  {
    title: 'callers of createOutbox, with pg, TypeORM and Prisma',
    fixtures: ['facade.ts', 'facade-prisma.mts', 'facade-topics.ts'],
  },
  {
    title: 'applications with legacy decorators',
    fixtures: ['legacy-decorators.ts'],
    experimentalDecorators: true,
  },
  { title: 'applications that mix ES modules and CommonJS', fixtures: ['mixed-app.mts', 'mixed-store.cts'] },
  { title: 'applications with checked JavaScript', fixtures: ['checked.mjs'], allowJs: true, checkJs: true },
];

let project: Project;

beforeAll(async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'postcommit-types-')));
  project = { folder, packages };
  await installPacked(folder, packages);
  await mkdir(join(folder, 'node_modules/@types'));
  for (const [name, path] of Object.entries(drivers)) {
    const target = await realpath(fileURLToPath(new URL(path, import.meta.url)));
    await symlink(target, join(folder, 'node_modules', name));
  }
}, patience.timeout);

afterAll(() => rm(project.folder, { recursive: true, force: true }));

describe.each([true, false])('with exactOptionalPropertyTypes %s, the packed types compile for', (exact) => {
  it.each(programs)('$title', patience, ({ title: _, fixtures, ...options }) => {
    const found = compile(project, readFixtures(fixtures), { ...options, exactOptionalPropertyTypes: exact });
    expect(found).toEqual([]);
  });
});

describe('the check itself', () => {
  const fixture = (text: string): Fixture => ({
    name: 'example.ts',
    text: `import type { OutboxState } from '@postcommit/core';\n${text}`,
  });

  it('reports compile errors, in both kinds of modules', patience, () => {
    const found = compile(project, [fixture("export const state: OutboxState = 'sent';")]);
    expect(found).toEqual([
      expect.stringMatching(/^example\.mts:2 TS2322: Type '"sent"'/),
      expect.stringMatching(/^example\.cts:2 TS2322: Type '"sent"'/),
    ]);
  });

  it.each([
    ["// @ts-expect-error: 'sent'\nexport const state: OutboxState = 'dead';", ['should not compile']],
    [
      "// @ts-expect-error: 'lost'\nexport const state: OutboxState = 'sent';",
      ['should not compile', 'TS2322'],
    ],
    ["// @ts-expect-error\nexport const state: OutboxState = 'sent';", ['say why', 'TS2322']],
  ])('reports %j', patience, (text, words) => {
    const found = compile(project, [{ ...fixture(text), name: 'example.mts' }]);
    expect(found).toEqual(words.map((word) => expect.stringContaining(word)));
  });

  it('reports an error in the declarations of a package', patience, async () => {
    const broken = join(project.folder, 'node_modules/broken');
    await mkdir(broken);
    await writeFile(join(broken, 'package.json'), '{ "name": "broken", "main": "./index.js" }');
    await writeFile(join(broken, 'index.d.ts'), 'export declare const state: Missing;');
    const user = { name: 'user.mts', text: "export { state } from 'broken';" };
    expect(compile(project, [user])).toEqual([]);
    expect(compile({ ...project, packages: ['broken'] }, [user])).toEqual([
      expect.stringMatching(/broken\/index\.d\.ts:1 TS2304: Cannot find name 'Missing'/),
    ]);
  });
});
