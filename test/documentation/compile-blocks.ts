import { join } from 'node:path';
import ts from 'typescript';
import type { BlockModule } from './block-modules.js';
import { type Block, root } from './pages.js';

const base = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile);
const options: ts.CompilerOptions = {
  ...ts.parseJsonConfigFileContent(base.config, ts.sys, root).options,
  // A reader's project: Nest asks for the first two, and fragments take their names from generated imports.
  experimentalDecorators: true,
  erasableSyntaxOnly: false,
  verbatimModuleSyntax: false,
  isolatedModules: false,
};

/** Where a page's imports are looked up when its own folder does not have them. */
const homes = [
  'test',
  'packages/telemetry',
  'packages/publisher-rabbitmq',
  'packages/store-sql',
  'packages/store-prisma',
  'packages/nestjs',
  'packages/publisher-nats',
  'packages/publisher-kafka',
  'packages/publisher-redis',
  'packages/publisher-bullmq',
  'packages/inbox',
  'examples/typed-topics',
];
/** Fragments run with it. */
export const runningApplication: string = join(root, 'test/documentation/preambles/running-application.ts');
const prismaClient = join(root, 'packages/store-prisma/test/gen/client.ts');

export interface Problem {
  /** Undefined where a preamble is wrong. */
  readonly block?: Block;
  /** Page, line, and what the compiler says. */
  readonly text: string;
}

/** Type-checks all modules, the preambles that they use, and other files, in one program. */
export function compileBlocks(modules: readonly BlockModule[], others: readonly string[] = []): Problem[] {
  const texts = new Map(modules.map(({ path, text }) => [path, text]));
  const program = ts.createProgram([...texts.keys(), ...others], options, hostWith(texts));
  const preambles = program.getSourceFiles().filter(({ fileName }) => isPreamble(fileName));
  return [
    ...preambles.flatMap((file) =>
      findingsOf(program, file).map(({ line, text }) => ({ text: `${file.fileName}:${line} ${text}` })),
    ),
    ...modules.flatMap((module) => problemsOf(program, module)),
  ];
}

const isPreamble = (path: string): boolean => path.includes('/documentation/preambles/');
const isOfPage = (path: string): boolean => path.includes('/.page ') || isPreamble(path);
/** What is on disk is the same in every program, and parsing it is most of the work. */
const parsed = new Map<string, ts.SourceFile>();

function hostWith(texts: ReadonlyMap<string, string>): ts.CompilerHost {
  const host = ts.createCompilerHost(options, true);
  const { fileExists, readFile } = host;
  const folders = [...texts.keys()].map((path) => `${path.slice(0, path.lastIndexOf('/'))}/`);
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  const parse = host.getSourceFile;
  host.getSourceFile = (path, format, ...rest) => {
    const known = parsed.get(path);
    if (known) return known;
    const file = parse(path, format, ...rest);
    if (file && !texts.has(path)) parsed.set(path, file);
    return file;
  };
  host.directoryExists = (path) =>
    folders.some((folder) => folder.startsWith(`${path}/`)) || ts.sys.directoryExists(path);
  host.resolveModuleNameLiterals = (literals, from, _redirected, given, file) =>
    literals.map(({ text }) => resolve(text, from, given, host, file.impliedNodeFormat));
  return host;
}

function resolve(
  name: string,
  from: string,
  given: ts.CompilerOptions,
  host: ts.CompilerHost,
  format: ts.ResolutionMode,
): ts.ResolvedModuleWithFailedLookupLocations {
  if (name.endsWith('generated/prisma/client.js')) return fileAt(prismaClient);
  if (name.startsWith('/')) return fileAt(name);
  const others = isOfPage(from) ? homes.map((home) => join(root, home, 'page.ts')) : [];
  const found = [from, ...others].map((place) =>
    ts.resolveModuleName(name, place, given, host, undefined, undefined, format),
  );
  return (
    found.find(({ resolvedModule }) => resolvedModule && hasTypes(resolvedModule)) ?? {
      resolvedModule: undefined,
    }
  );
}

function fileAt(path: string): ts.ResolvedModuleWithFailedLookupLocations {
  return { resolvedModule: { resolvedFileName: path, extension: '.ts', isExternalLibraryImport: false } };
}

/** A package without declarations of its own is looked for where its `@types` are, too. */
function hasTypes({ extension }: ts.ResolvedModuleFull): boolean {
  return !/^\.[cm]?js$/.test(extension);
}

function problemsOf(program: ts.Program, { path, block, offset }: BlockModule): Problem[] {
  const file = program.getSourceFile(path);
  if (!file) return [{ block, text: `${block.page}:${block.line} was not read` }];
  return findingsOf(program, file).map(({ line, text }) => ({
    block,
    text: `${block.page}:${line - offset + block.line} ${text}`,
  }));
}

function findingsOf(program: ts.Program, file: ts.SourceFile): { line: number; text: string }[] {
  const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  return found.map(({ start = 0, code, messageText }) => ({
    line: file.getLineAndCharacterOfPosition(start).line + 1,
    text: `TS${code}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
  }));
}
