import { dirname, join } from 'node:path';
import ts from 'typescript';
import { readPackages } from '../../architecture/workspace.js';
import { root } from '../../documentation/pages.js';

/** The public names of one package, each as users see it declared. */
export interface ApiReport {
  readonly folder: string;
  readonly names: number;
  readonly text: string;
}

/**
 * The report of every package, made from its source: declarations without bodies, comments and private members. The
 * types that they are made of follow, since a change to one of those changes the signatures too.
 */
export function apiReports(): ApiReport[] {
  const folders = readPackages().map(({ folder }) => folder);
  const declarations = new Declarations(folders.map(indexOf));
  return folders.map((folder) => {
    const exported = declarations.exportedBy(indexOf(folder));
    const referred = declarations.referredToBy(exported);
    const parts = [
      `${exported.length} public names of @postcommit/${folder}. Run \`pnpm reports\` to rewrite this file.\n`,
      ...textOf(exported),
      ...(referred.length > 0 ? ['Not exported, but part of the declarations above:\n'] : []),
      ...textOf(referred),
    ];
    return { folder, names: exported.length, text: parts.join('\n') };
  });
}

export function apiReportPath(folder: string): string {
  return join(root, 'packages', folder, 'api.txt');
}

function indexOf(folder: string): string {
  return join(root, 'packages', folder, 'src/index.ts');
}

/** A name and the statements that declare it; a function has one for each overload. */
interface Declared {
  readonly name: string;
  readonly file: string;
  readonly statements: readonly ts.Statement[];
}

/** What the compiler would write to the declaration files. */
class Declarations {
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;
  readonly #emitted = new Map<string, ts.SourceFile>();

  constructor(entries: readonly string[]) {
    const base = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent(base.config, ts.sys, root);
    const emitting = { noEmit: false, declaration: true, emitDeclarationOnly: true };
    this.#program = ts.createProgram(entries, { ...options, ...emitting });
    this.#checker = this.#program.getTypeChecker();
  }

  exportedBy(entry: string): Declared[] {
    const file = this.#program.getSourceFile(entry);
    const module = file && this.#checker.getSymbolAtLocation(file);
    if (!module) throw new Error(`${entry} has no exports`);
    return this.#checker.getExportsOfModule(module).map((exported) => {
      const symbol = this.#checker.getAliasedSymbol(exported);
      const [path = ''] =
        symbol.declarations?.map((declaration) => declaration.getSourceFile().fileName) ?? [];
      const statements = this.#statementsOf(path, symbol.name);
      if (statements.length === 0) throw new Error(`no declaration of ${exported.name} was found`);
      return { name: exported.name, file: path, statements };
    });
  }

  /** What else of the same package these are made of, and that in turn. */
  referredToBy(exported: readonly Declared[]): Declared[] {
    const known = new Set(exported.flatMap(({ statements }) => statements));
    const referred: Declared[] = [];
    const waiting = [...exported];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      for (const found of this.#namesIn(next)) {
        if (found.statements.length === 0 || found.statements.some((statement) => known.has(statement)))
          continue;
        for (const statement of found.statements) known.add(statement);
        referred.push(found);
        waiting.push(found);
      }
    }
    return referred;
  }

  #namesIn({ file, statements }: Declared): Declared[] {
    const imports = importsIn(this.#emit(file));
    return [...new Set(statements.flatMap(typesIn))].map((name) => {
      const from = imports.get(name);
      const path = from ? join(dirname(file), from.path) : file;
      return { name, file: path, statements: this.#statementsOf(path, from?.name ?? name) };
    });
  }

  #statementsOf(path: string, name: string): ts.Statement[] {
    return this.#emit(path).statements.filter((statement) => declares(statement, name));
  }

  #emit(path: string): ts.SourceFile {
    const known = this.#emitted.get(path);
    if (known) return known;
    let text = '';
    const write: ts.WriteFileCallback = (_, declarations) => {
      text = declarations;
    };
    this.#program.emit(this.#program.getSourceFile(path), write, undefined, true);
    if (!text) throw new Error(`${path} was not emitted`);
    const tree = ts.createSourceFile(`${path}.d.ts`, text, ts.ScriptTarget.Latest, true);
    this.#emitted.set(path, tree);
    return tree;
  }
}

/** Names imported from files of the same package. */
function importsIn(tree: ts.SourceFile): Map<string, { readonly path: string; readonly name: string }> {
  const imports = tree.statements.filter(ts.isImportDeclaration).flatMap((statement) => {
    const from = ts.isStringLiteral(statement.moduleSpecifier) ? statement.moduleSpecifier.text : '';
    const bindings = statement.importClause?.namedBindings;
    if (!from.startsWith('.') || !bindings || !ts.isNamedImports(bindings)) return [];
    const path = from.replace(/\.js$/, '.ts');
    return bindings.elements.map(
      ({ name, propertyName }) => [name.text, { path, name: (propertyName ?? name).text }] as const,
    );
  });
  return new Map(imports);
}

/** The names of types, of base classes, and behind `typeof`. */
function typesIn(node: ts.Node): string[] {
  const names: string[] = [];
  ts.forEachChild(node, (child) => {
    names.push(...typesIn(child));
  });
  if (ts.isTypeReferenceNode(node)) names.push(node.typeName.getText());
  if (ts.isExpressionWithTypeArguments(node)) names.push(node.expression.getText());
  if (ts.isTypeQueryNode(node)) names.push(node.exprName.getText());
  return names;
}

function declares(statement: ts.Statement, name: string): boolean {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.some((declaration) => declaration.name.getText() === name);
  const isNamed =
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isFunctionDeclaration(statement);
  return isNamed && statement.name?.text === name;
}

const printer = ts.createPrinter({ removeComments: true });

function textOf(declared: readonly Declared[]): string[] {
  return [...declared]
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, statements }) => {
      const text = statements.map(print).join('');
      return statements.some((statement) => declares(statement, name))
        ? text
        : `// exported as ${name}\n${text}`;
    });
}

/** Without `export declare`, which says nothing here, and without private members. */
function print(statement: ts.Statement): string {
  const text = printer.printNode(ts.EmitHint.Unspecified, statement, statement.getSourceFile());
  const lines = text
    .replace(/^(export )?(declare )?/, '')
    .split('\n')
    .filter((line) => !/^ {4}(static )?(#private;|private )/.test(line));
  return `${lines.join('\n')}\n`;
}
