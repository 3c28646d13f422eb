import { defineConfig, type Options } from 'tsup';

/** The one build of every package: ESM and CommonJS from `src/index.ts`, with types for both. */
export function packageBuild(options: Options = {}): ReturnType<typeof defineConfig> {
  return defineConfig({
    entry: ['src/index.ts'],
    format: ['esm', 'cjs'],
    target: 'node20',
    // tsup hands `baseUrl` to TypeScript, which 6.0 reports as deprecated.
    // Siblings come from their built packages here, as users get them, not from source by `paths`.
    dts: { compilerOptions: { ignoreDeprecations: '6.0', paths: {} } },
    clean: true,
    splitting: false,
    ...options,
  });
}
