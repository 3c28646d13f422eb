import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import ts from 'typescript';

/** A user's project: a folder with the packed packages in its node_modules. */
export interface Project {
  readonly folder: string;
  /** Whose declarations are checked along with the user's files. */
  readonly packages: readonly string[];
}

/** A file of the user; `.ts` stands for two, an ES module and a CommonJS one with the same text. */
export interface Fixture {
  readonly name: string;
  readonly text: string;
}

const defaults: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts'],
  module: ts.ModuleKind.NodeNext,
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  noUnusedLocals: true,
  skipLibCheck: false,
  noEmit: true,
};

export function readFixtures(names: readonly string[]): Fixture[] {
  const read = (name: string): string => readFileSync(new URL(`./fixtures/${name}`, import.meta.url), 'utf8');
  return names.map((name) => ({ name, text: read(name) }));
}

let programs = 0;

/**
 * Compiles the fixtures together and returns the problems, one line each: every error that is not announced, and
 * every announced one that did not come. `// @ts-expect-error: <text>` announces an error on the next line whose
 * message contains the text, which is more than the compiler asks: an error for another reason proves nothing.
 */
export function compile(
  project: Project,
  fixtures: readonly Fixture[],
  options: ts.CompilerOptions = {},
): string[] {
  programs += 1;
  const folder = join(project.folder, `program-${programs}`);
  mkdirSync(folder);
  const files = fixtures.flatMap(bothKinds);
  for (const { name, text } of files)
    writeFileSync(join(folder, name), text.replaceAll('@ts-expect-error', ''));
  const paths = files.map(({ name }) => join(folder, name));
  const program = ts.createProgram(paths, { ...defaults, ...options }, sharingHost(options));
  const problems = files.flatMap(({ name, text }, index) =>
    compare(name, announced(text), diagnosticsOf(program, paths[index] ?? '')),
  );
  return [
    ...program.getOptionsDiagnostics().map(messageOf),
    ...problems,
    ...declarationProblems(program, project),
  ];
}

function bothKinds({ name, text }: Fixture): Fixture[] {
  if (extname(name) !== '.ts') return [{ name, text }];
  return ['.mts', '.cts'].map((extension) => ({ name: name.replace('.ts', extension), text }));
}

/** An error on a line, counted from 1. */
interface Finding {
  readonly line: number;
  readonly message: string;
}

function announced(text: string): Finding[] {
  return text.split('\n').flatMap((line, index) => {
    const message = /\/\/ @ts-expect-error(?:: (.+))?/.exec(line);
    return message ? [{ line: index + 2, message: message[1] ?? '' }] : [];
  });
}

function compare(name: string, expected: readonly Finding[], found: readonly Finding[]): string[] {
  const isMatch = (a: Finding, b: Finding): boolean =>
    a.line === b.line && a.message !== '' && b.message.includes(a.message);
  return [
    ...expected
      .filter((wanted) => !found.some((finding) => isMatch(wanted, finding)))
      .map(({ line, message }) => `${name}:${line} should not compile: ${message || 'say why it does not'}`),
    ...found
      .filter((finding) => !expected.some((wanted) => isMatch(wanted, finding)))
      .map(({ line, message }) => `${name}:${line} ${message}`),
  ];
}

/** Ours alone: checking those of Node and of the language in every program would cost seconds. */
function declarationProblems(program: ts.Program, { folder, packages }: Project): string[] {
  const ours = packages.map((name) => join(folder, 'node_modules', name));
  return program
    .getSourceFiles()
    .filter(({ fileName }) => ours.some((path) => fileName.startsWith(path)))
    .flatMap(({ fileName }) =>
      diagnosticsOf(program, fileName).map(({ line, message }) => `${fileName}:${line} ${message}`),
    );
}

function diagnosticsOf(program: ts.Program, path: string): Finding[] {
  const file = program.getSourceFile(path);
  const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  return found.map((diagnostic) => ({
    line: file ? file.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line + 1 : 0,
    message: messageOf(diagnostic),
  }));
}

function messageOf({ code, messageText }: ts.Diagnostic): string {
  return `TS${code}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
}

const parsed = new Map<string, ts.SourceFile | undefined>();

/** Parsing is most of the work, and what is in node_modules is the same in every program. */
function sharingHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost({ ...defaults, ...options }, true);
  const parse = host.getSourceFile;
  host.getSourceFile = (fileName, format, ...rest) => {
    if (!fileName.endsWith('.d.ts') && !fileName.endsWith('.d.cts')) return parse(fileName, format, ...rest);
    const key = `${fileName} ${JSON.stringify(format)}`;
    if (!parsed.has(key)) parsed.set(key, parse(fileName, format, ...rest));
    return parsed.get(key);
  };
  return host;
}
