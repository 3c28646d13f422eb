import { build } from 'tsup';

export interface ProgramBundle {
  /** The program's TypeScript file. */
  readonly entry: string;
  /** Its `paths` lead from package names to sources. */
  readonly tsconfig: string;
  /** Where the result is written; what is not bundled is resolved from there. */
  readonly outFolder: string;
  /** Packages that stay outside. */
  readonly external: (string | RegExp)[];
}

/** One file of a program and of this repository's packages that it uses: who starts it often does not wait for tsx. */
export async function bundleProgram({ entry, tsconfig, outFolder, external }: ProgramBundle): Promise<void> {
  await build({
    entry: [entry],
    tsconfig,
    outDir: outFolder,
    format: 'esm',
    target: 'node20',
    outExtension: () => ({ js: '.mjs' }),
    external,
    noExternal: [/^@postcommit\//],
    config: false,
    dts: false,
    sourcemap: 'inline',
    clean: false,
    silent: true,
  });
}
