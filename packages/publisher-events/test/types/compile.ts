import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** Which decorators a tsconfig asks for. */
export type Decorators = 'standard' | 'legacy';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/**
 * Compiles a fixture and returns the problems, one line each. `// @ts-expect-error: <text>` announces an error on the next
 * line whose message contains the text: an error for another reason proves nothing.
 */
export function problemsOf(fixture: string, decorators: Decorators, text = textOf(fixture)): string[] {
  const path = here(`./fixtures/${fixture}`);
  const options = optionsOf(decorators);
  const host = ts.createCompilerHost(options, true);
  const read = host.readFile.bind(host);
  host.readFile = (name) => (name === path ? text.replaceAll('@ts-expect-error', '') : read(name));
  shareDeclarations(host);
  const program = ts.createProgram([path], options, host);
  const file = program.getSourceFile(path);
  if (!file) throw new Error(`no fixture ${path}`);
  const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  return compare(
    announced(text),
    found.map((diagnostic) => toFinding(file, diagnostic)),
  );
}

const parsed = new Map<string, ts.SourceFile | undefined>();

/** Parsing is most of the work, and the declarations of the language and of Node are the same in every program. */
function shareDeclarations(host: ts.CompilerHost): void {
  const parse = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) => {
    if (!name.endsWith('.d.ts')) return parse(name, ...rest);
    if (!parsed.has(name)) parsed.set(name, parse(name, ...rest));
    return parsed.get(name);
  };
}

/** The exports of a fixture, or of a text, as TypeScript compiles it with these decorators. */
export function load(
  source: { readonly fixture: string } | { readonly text: string },
  decorators: Decorators,
  modules: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const text = 'text' in source ? source.text : textOf(source.fixture);
  const compilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.CommonJS,
    experimentalDecorators: optionsOf(decorators).experimentalDecorators ?? false,
  };
  const { outputText } = ts.transpileModule(text, { compilerOptions });
  const exported: Record<string, unknown> = {};
  new Function('exports', 'require', outputText)(exported, (name: string) => modules[name]);
  return exported;
}

function textOf(fixture: string): string {
  return readFileSync(here(`./fixtures/${fixture}`), 'utf8');
}

function optionsOf(decorators: Decorators): ts.CompilerOptions {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail };
  const parsed = ts.getParsedCommandLineOfConfigFile(here(`./tsconfig.${decorators}.json`), {}, host);
  if (!parsed) throw new Error(`no tsconfig for ${decorators} decorators`);
  return parsed.options;
}

function fail({ messageText }: ts.Diagnostic): never {
  throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
}

/** An error on a line, counted from 1. */
interface Finding {
  readonly line: number;
  readonly message: string;
}

function toFinding(file: ts.SourceFile, { code, messageText, start }: ts.Diagnostic): Finding {
  const { line } = file.getLineAndCharacterOfPosition(start ?? 0);
  return { line: line + 1, message: `TS${code}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}` };
}

function announced(text: string): Finding[] {
  return text.split('\n').flatMap((line, index) => {
    const [, message] = /\/\/ @ts-expect-error: (.+)/.exec(line) ?? [];
    return message === undefined ? [] : [{ line: index + 2, message }];
  });
}

function compare(expected: readonly Finding[], found: readonly Finding[]): string[] {
  const isMatch = (wanted: Finding, finding: Finding): boolean =>
    wanted.line === finding.line && finding.message.includes(wanted.message);
  return [
    ...expected
      .filter((wanted) => !found.some((finding) => isMatch(wanted, finding)))
      .map(({ line, message }) => `${line} should not compile: ${message}`),
    ...found
      .filter((finding) => !expected.some((wanted) => isMatch(wanted, finding)))
      .map(({ line, message }) => `${line} ${message}`),
  ];
}
