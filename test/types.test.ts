import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installPacked } from './packed-packages.js';
import { compile, type Fixture, type Project, readFixtures } from './types/compile.js';

const patience = { timeout: 60_000 };
const packages = ['@postcommit/core', '@postcommit/store-memory', '@postcommit/store-testkit'];
const typesOfNode = fileURLToPath(new URL('../node_modules/@types/node', import.meta.url));

/** Fixtures that share a program see the same topics and the same options; each line is compiled on its own. */
const programs = [
  {
    title: 'who declares no topics',
    fixtures: ['no-topics.ts', 'entries.ts', 'transactions.ts', 'modules.ts', 'errors.ts', 'testkit.ts'],
  },
  { title: 'who declares topics', fixtures: ['topics.ts', 'schemas.ts'] },
  { title: 'who uses legacy decorators', fixtures: ['legacy-decorators.ts'], experimentalDecorators: true },
  { title: 'who mixes ES modules and CommonJS', fixtures: ['mixed-app.mts', 'mixed-store.cts'] },
  { title: 'who checks JavaScript', fixtures: ['checked.mjs'], allowJs: true, checkJs: true },
];

let project: Project;

beforeAll(async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'postcommit-types-')));
  project = { folder, packages };
  await installPacked(folder, packages);
  await mkdir(join(folder, 'node_modules/@types'));
  await symlink(await realpath(typesOfNode), join(folder, 'node_modules/@types/node'));
}, patience.timeout);

afterAll(() => rm(project.folder, { recursive: true, force: true }));

describe.each([true, false])('with exactOptionalPropertyTypes %s, the packed types serve', (exact) => {
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

  it('reports what does not compile, in both kinds of modules', patience, () => {
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
