import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const examplesFolder: string = fileURLToPath(new URL('../../examples', import.meta.url));

/** What the README of an example has its reader type. */
export interface ExampleReadme {
  readonly name: string;
  /** `npm init …`: what stands before the installation. */
  readonly setUp: string;
  /** Those that `npm install` is called with. */
  readonly packages: readonly string[];
  /** The variable that the reader sets to the address of a database. */
  readonly databaseVariable: string | undefined;
  /** What is run before the start. */
  readonly preparation: readonly string[];
  /** The last line: the program. */
  readonly start: string;
}

/** All but the demo. A folder without a manifest is what another branch left of its node_modules. */
export function exampleNames(): string[] {
  return readdirSync(examplesFolder).filter(
    (name) => name !== 'demo' && existsSync(join(examplesFolder, name, 'package.json')),
  );
}

export function readExampleReadme(name: string): ExampleReadme {
  const text = readFileSync(join(examplesFolder, name, 'README.md'), 'utf8');
  const [installation = '', running = ''] = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(
    ([, block = '']) => block,
  );
  const [, setUp = '', packages = ''] = /^(.*)\nnpm install (.*)\n$/.exec(installation) ?? [];
  const lines = running.trim().split('\n');
  const [, databaseVariable] = /^export (\w+)=/.exec(running) ?? [];
  const preparation = lines.filter((line) => !line.startsWith('export '));
  const start = preparation.pop();
  if (!setUp || !start) throw new Error(`The README of ${name} does not say how to install and run it`);
  return { name, setUp, packages: packages.split(' '), databaseVariable, preparation, start };
}

/** The packages that the sources of an example import. */
export function importsOf(name: string): Set<string> {
  const folder = join(examplesFolder, name);
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !/(^|\/)(node_modules|generated)\//.test(path),
  );
  const imported = sources.flatMap((path) => {
    const imports = readFileSync(join(folder, path), 'utf8').matchAll(/(?:from|import) '([^'.][^']*)'/g);
    return [...imports].map(([, specifier = '']) => specifier);
  });
  return new Set(imported.filter((specifier) => !specifier.startsWith('node:')).map(packageOf));
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
