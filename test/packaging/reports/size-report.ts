import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readPackages } from '../../architecture/workspace.js';
import { root } from '../../documentation/pages.js';

/** Bytes of the built ESM, minified, and then compressed. */
export interface Size {
  readonly minified: number;
  readonly gzipped: number;
}

export type SizeReport = Readonly<Record<string, Size>>;

/** The part of esbuild that is used; tsup brings it. */
interface Esbuild {
  build(options: object): Promise<{ readonly outputFiles: readonly { readonly contents: Uint8Array }[] }>;
}

export const sizeReportPath: string = join(root, 'test/packaging/reports/sizes.json');

/** Each package without what it depends on, and what the smallest application on PostgreSQL loads. */
export async function sizeReport(): Promise<SizeReport> {
  const esbuild = esbuildOfTsup();
  const report: Record<string, Size> = {};
  for (const { folder } of readPackages()) {
    report[folder] = await sizeOf(esbuild, { entry: folder, whole: [] });
  }
  report['core + store-pg'] = await sizeOf(esbuild, { entry: 'store-pg', whole: ['core', 'store-sql'] });
  return report;
}

interface Bundle {
  readonly entry: string;
  /** The packages of this repository that are counted in. */
  readonly whole: readonly string[];
}

async function sizeOf(esbuild: Esbuild, { entry, whole }: Bundle): Promise<Size> {
  const dist = (folder: string): string => join(root, 'packages', folder, 'dist');
  const entries = [...whole, entry].map(
    (folder) => `export * from ${JSON.stringify(`${dist(folder)}/index.js`)};`,
  );
  const alias = whole.flatMap((folder) => [
    [`@postcommit/${folder}/internal`, `${dist(folder)}/internal.js`],
    [`@postcommit/${folder}`, `${dist(folder)}/index.js`],
  ]);
  const { outputFiles } = await esbuild.build({
    stdin: { contents: entries.join('\n'), resolveDir: root },
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    // Without the paths of the repository's own, which lead to the source of siblings.
    tsconfigRaw: {},
    plugins: [resolveInside(Object.fromEntries(alias))],
  });
  const [output] = outputFiles;
  if (!output) throw new Error(`${entry} has no bundle`);
  return { minified: output.contents.length, gzipped: gzipSync(output.contents, { level: 9 }).length };
}

interface Resolving {
  onResolve(
    options: { filter: RegExp },
    resolve: (specifier: { path: string }) => { path: string } | undefined,
  ): void;
}

/** Before `packages: 'external'` applies. */
function resolveInside(paths: Readonly<Record<string, string>>): object {
  return {
    name: 'resolve-inside',
    setup: (build: Resolving): void =>
      build.onResolve({ filter: /^@postcommit\// }, ({ path }) => {
        const target = paths[path];
        return target === undefined ? undefined : { path: target };
      }),
  };
}

function esbuildOfTsup(): Esbuild {
  const tsup = createRequire(join(root, 'package.json')).resolve('tsup');
  return createRequire(tsup)('esbuild') as Esbuild;
}
