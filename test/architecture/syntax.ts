import ts from 'typescript';
import type { SourceFile } from './workspace.js';

/** `undefined` stands for a specifier that is computed at run time. */
export type Specifier = string | undefined;

/** Every module that a file names: imports and re-exports, of values and of types, `import()` and `require()`. */
export function importsOf(file: SourceFile): Specifier[] {
  const tree = parse(file);
  const found: Specifier[] = tree.typeReferenceDirectives.map((directive) => directive.fileName);
  walk(tree, (node) => {
    const specifier = specifierOf(node);
    if (specifier) found.push(ts.isStringLiteralLike(specifier) ? specifier.text : undefined);
  });
  return found;
}

export function usesConsole(file: SourceFile): boolean {
  let isFound = false;
  walk(parse(file), (node) => {
    isFound ||= ts.isIdentifier(node) && node.text === 'console';
  });
  return isFound;
}

/** The statements of an index file that are anything but `export { names } from` or `export type { names } from`. */
export function statementsThatListNoNames(file: SourceFile): string[] {
  const tree = parse(file);
  return tree.statements.filter((statement) => !listsNames(statement)).map((node) => node.getText(tree));
}

/** The names that an entry lists. */
export function namesListedIn(file: SourceFile): string[] {
  return parse(file)
    .statements.filter(ts.isExportDeclaration)
    .flatMap(({ exportClause }) =>
      exportClause && ts.isNamedExports(exportClause) ? [...exportClause.elements] : [],
    )
    .map(({ name }) => name.text);
}

/** The classes of a file, with how many fields and methods each has. */
export function classesIn(file: SourceFile): Array<{ readonly name: string; readonly members: number }> {
  const found: Array<{ name: string; members: number }> = [];
  walk(parse(file), (node) => {
    if (!ts.isClassDeclaration(node)) return;
    const members = node.members.filter(
      (member) => !ts.isConstructorDeclaration(member) && !ts.isClassStaticBlockDeclaration(member),
    );
    found.push({ name: node.name?.text ?? 'a class without a name', members: members.length });
  });
  return found;
}

function listsNames(statement: ts.Statement): boolean {
  if (!ts.isExportDeclaration(statement) || !statement.moduleSpecifier) return false;
  const clause = statement.exportClause;
  return (
    !!clause && ts.isNamedExports(clause) && clause.elements.every(({ name }) => name.text !== 'default')
  );
}

function specifierOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node;
  // `declare module 'x'` adds to x, so it depends on x.
  if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name)) return node.name;
  if (ts.isCallExpression(node) && loadsModule(node.expression)) return node.arguments[0] ?? node;
  return undefined;
}

function loadsModule(callee: ts.Expression): boolean {
  if (callee.kind === ts.SyntaxKind.ImportKeyword) return true;
  const base = ts.isPropertyAccessExpression(callee) ? callee.expression : callee;
  return ts.isIdentifier(base) && base.text === 'require';
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

function parse(file: SourceFile): ts.SourceFile {
  return ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true);
}
