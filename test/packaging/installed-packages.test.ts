import { createTestDatabase } from '@internal/test-database/test-database';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPackages } from '../architecture/workspace.js';
import { InstalledProject } from './installed-packages/project.js';
import { PRINTED, readmePrograms } from './installed-packages/readme-programs.js';

/** As strict as a user may be; `skipLibCheck: false` has our declarations checked too, with those they import. */
const TSCONFIG = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    module: 'nodenext',
    target: 'es2022',
    types: ['node'],
  },
  include: ['*.mts', '*.cts'],
};

const names = readPackages().map(({ folder }) => `@postcommit/${folder}`);
/** The testkits register tests, so they only load inside of vitest; their types are checked like the others'. */
const loadable = names.filter((name) => !name.endsWith('-testkit'));
/** npm may have to fetch everything, on a busy machine. */
const patience = 300_000;

let project: InstalledProject;
let compiled: PromiseSettledResult<string>;

beforeAll(async () => {
  project = await InstalledProject.create();
  const everything = names.map((name, index) => `export * as package${index} from '${name}';\n`).join('');
  const files = { ...readmePrograms(), 'everything.mts': everything, 'everything.cts': everything };
  await project.write('tsconfig.json', JSON.stringify(TSCONFIG));
  for (const [name, text] of Object.entries(files)) await project.write(name, text);
  [compiled] = await Promise.allSettled([project.run('node_modules/.bin/tsc', ['-p', '.'])]);
}, patience);

afterAll(() => project?.remove());

describe('the packages, installed by npm from their tarballs', () => {
  it('type-check strictly, their declarations included, from ES modules and from CommonJS', () => {
    expect(compiled).toEqual({ status: 'fulfilled', value: '' });
  });

  // The typed ones are what the compiler made of TypeScript.
  it.each(['typed.mjs', 'typed.cjs', 'plain.mjs', 'plain.cjs'])(
    "run the README's code as %s",
    { timeout: patience },
    async (program) => {
      const database = await createTestDatabase();
      const output = await project.run(process.execPath, [program], { DATABASE_URL: database.url });
      expect(JSON.parse(output)).toEqual(PRINTED);
      await database.drop();
    },
  );

  it('have the same exports whether imported or required', { timeout: patience }, async () => {
    await project.write(
      'names.cjs',
      `const named = (module) => Object.keys(module).filter((name) => name !== 'default' && name !== 'module.exports').sort();
       const both = async (name) => [name, { required: named(require(name)), imported: named(await import(name)) }];
       Promise.all(${JSON.stringify(loadable)}.map(both)).then((all) => console.log(JSON.stringify(Object.fromEntries(all))));`,
    );
    const found = JSON.parse(await project.run(process.execPath, ['names.cjs']));
    expect(Object.keys(found)).toEqual(loadable);
    for (const name of loadable) {
      expect(found[name].imported, name).toEqual(found[name].required);
      expect(found[name].imported, name).not.toEqual([]);
    }
  });

  it('install the command line', { timeout: patience }, async () => {
    const schema = await project.run('node_modules/.bin/outbox', ['outbox:schema'], {
      DATABASE_URL: 'postgres://localhost/none',
    });
    expect(schema).toContain('create table');
  });
});
