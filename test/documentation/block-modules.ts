import { dirname, join } from 'node:path';
import ts from 'typescript';
import { type Block, root } from './pages.js';

/** A block as a file of its own that the compiler can read. */
export interface BlockModule {
  readonly path: string;
  readonly text: string;
  readonly block: Block;
  /** How many lines stand before the block's first line. */
  readonly offset: number;
}

/** Names that a fragment may use, and the module that has them. */
type Scope = ReadonlyMap<string, string>;

/** Where the modules of a page lie, and whose names they may use. */
interface Place {
  readonly folder: string;
  readonly preambles: readonly string[];
  /** Types are left out of what modules hand to each other: nothing of them is left when they run. */
  readonly valuesOnly?: boolean;
}

/** The modules of a page's `ts` blocks, in order: each sees what those before it declare. */
export function modulesOf(
  page: string,
  blocks: readonly Block[],
  place = placeToCompile(page),
): BlockModule[] {
  const { folder, valuesOnly = false } = place;
  let scope: Scope = new Map(
    place.preambles.flatMap((file) =>
      exportedNames(ts.sys.readFile(file) ?? '').map((name) => [name, file] as const),
    ),
  );
  return blocks.map((block, index) => {
    const [, file] = /^\/\/ (\S+\.ts)\n/.exec(block.code) ?? [];
    if (file) return { path: join(folder, file), text: block.code, block, offset: 0 };
    const path = join(folder, `block-${index + 1}.ts`);
    const all = topLevelNames(block.code);
    const shared = valuesOnly ? topLevelNames(block.code, true) : all;
    const imports = importLines(scope, all);
    scope = new Map([...scope, ...shared.map((name) => [name, path] as const)]);
    const text = `${imports.join('')}${block.code}\n${exportLine(block.code, shared)}`;
    return { path, text, block, offset: imports.length };
  });
}

/** The names of the reader's application: those of every page, then those of this one. */
function placeToCompile(page: string): Place {
  const names = ['every-page', page.replace('.md', '').replaceAll('/', '-')];
  return {
    // In the folder of its package a README finds that package's drivers.
    folder: join(root, page.startsWith('packages/') ? dirname(page) : 'test', `.page ${page}`),
    preambles: names.map((name) => join(root, 'test/documentation/preambles', `${name}.ts`)),
  };
}

function exportedNames(code: string): string[] {
  const { statements } = parse(code);
  return statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) return isExported(statement) ? namesOf(statement) : [];
    const { exportClause } = statement;
    return exportClause && ts.isNamedExports(exportClause)
      ? exportClause.elements.map(({ name }) => name.text)
      : [];
  });
}

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

function parse(code: string): ts.SourceFile {
  return ts.createSourceFile('block.ts', code, ts.ScriptTarget.ES2022);
}

/** What a block declares or imports at its top level. */
function topLevelNames(code: string, valuesOnly = false): string[] {
  return [...new Set(parse(code).statements.flatMap((statement) => namesOf(statement, valuesOnly)))];
}

function namesOf(statement: ts.Statement, valuesOnly = false): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => boundNames(name));
  if (ts.isImportDeclaration(statement)) return importedNames(statement.importClause, valuesOnly);
  const isValue = ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement);
  const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
  return (isValue || (isType && !valuesOnly)) && statement.name ? [statement.name.text] : [];
}

function boundNames(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) =>
    ts.isOmittedExpression(element) ? [] : boundNames(element.name),
  );
}

function importedNames(clause: ts.ImportClause | undefined, valuesOnly: boolean): string[] {
  if (!clause || (valuesOnly && clause.isTypeOnly)) return [];
  const bindings = clause.namedBindings;
  const elements = bindings && ts.isNamedImports(bindings) ? bindings.elements : [];
  const named = elements.filter(({ isTypeOnly }) => !(valuesOnly && isTypeOnly)).map(({ name }) => name.text);
  return clause.name ? [clause.name.text, ...named] : named;
}

function importLines(scope: Scope, own: readonly string[]): string[] {
  const wanted = [...scope].filter(([name]) => !own.includes(name));
  return [...new Set(wanted.map(([, path]) => path))].map((path) => {
    const names = wanted.filter(([, from]) => from === path).map(([name]) => name);
    return `import { ${names.join(', ')} } from ${JSON.stringify(path)};\n`;
  });
}

/** Makes what the block declares visible to the blocks after it. */
function exportLine(code: string, names: readonly string[]): string {
  const shown = exportedNames(code);
  return `export { ${names.filter((name) => !shown.includes(name)).join(', ')} };\n`;
}
