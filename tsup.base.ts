import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { defineConfig, type Options } from 'tsup';

const DECLARATIONS = {
  // tsup hands `baseUrl` to TypeScript, which 6.0 reports as deprecated.
  // Siblings come from their built packages here, as users get them, not from source by `paths`.
  compilerOptions: { ignoreDeprecations: '6.0', paths: {} },
};

/** The one build of every package: ESM and CommonJS from `src/index.ts`, with types for both. */
export function packageBuild(options: Options = {}): ReturnType<typeof defineConfig> {
  return defineConfig({
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    target: 'node20',
    dts: DECLARATIONS,
    clean: true,
    splitting: false,
    ...options,
  });
}

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/**
 * For a package with a second entry, `src/internal.ts`. All code is in `dist/bundle`, and both entries only re-export
 * names from it, so that a class is the same through either. tsup's own splitting would do for ESM, but for CommonJS it
 * replaces every `?.` and `??` by a call of a slower helper.
 */
export function twoEntries(folder = '.'): Required<Pick<Options, 'entry' | 'dts' | 'esbuildPlugins'>> {
  const [index, internal, bundle] = ['src/index.ts', 'src/internal.ts', 'bundle.ts'].map((file) =>
    resolve(folder, file),
  ) as [string, string, string];
  return {
    entry: { index, internal, bundle },
    dts: { ...DECLARATIONS, entry: { index, internal } },
    esbuildPlugins: [reExportFromBundle([index, internal])],
  };
}

function reExportFromBundle(entries: readonly string[]): Plugin {
  return {
    name: 're-export-from-bundle',
    setup(build) {
      const extension = build.initialOptions.format === 'cjs' ? 'cjs' : 'js';
      build.onResolve({ filter: /^\./ }, ({ path, importer, namespace, resolveDir }) => {
        if (entries.includes(importer) && namespace === 'file')
          return { path: `./bundle.${extension}`, external: true };
        // The bundle reads the entries too, and there they stand for what they list.
        const target = resolve(resolveDir, path.replace(/\.js$/, '.ts'));
        return entries.includes(target) ? { path: target, namespace: 'listed' } : undefined;
      });
      build.onLoad({ filter: /./, namespace: 'listed' }, async ({ path }) => ({
        contents: await readFile(path, 'utf8'),
        loader: 'ts',
        resolveDir: dirname(path),
      }));
    },
  };
}
