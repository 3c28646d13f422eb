import { join } from 'node:path';
import ts from 'typescript';
import { root } from './pages.js';

/** The properties of exported option types, as the compiler sees them: inherited, picked and mapped ones too. */
export class OptionTypes {
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;

  constructor(packages: readonly string[]) {
    const base = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent(base.config, ts.sys, root);
    this.#program = ts.createProgram(packages.map(indexOf), options);
    this.#checker = this.#program.getTypeChecker();
  }

  /** The text behind `@default`, for each option that has one. */
  defaultsOf(packageName: string, typeName: string): Map<string, string> {
    const defaults = this.#propertiesOf(this.#typeOf(packageName, typeName)).map((property) => {
      const tag = property.getJsDocTags(this.#checker).find(({ name }) => name === 'default');
      return [property.name, ts.displayPartsToString(tag?.text)] as const;
    });
    return new Map(defaults.filter(([, text]) => text !== ''));
  }

  /** By name; an option in `nested` by the names inside it: `polling.enabled`. */
  namesOf(packageName: string, typeName: string, nested: readonly string[]): string[] {
    const type = this.#typeOf(packageName, typeName);
    return this.#propertiesOf(type).flatMap((property) => {
      if (!nested.includes(property.name)) return [property.name];
      const inner = this.#checker.getNonNullableType(this.#checker.getTypeOfSymbol(property));
      return this.#objectIn(inner).map((name) => `${property.name}.${name}`);
    });
  }

  /** Of a union, those of all its members. */
  #propertiesOf(type: ts.Type): ts.Symbol[] {
    const members = type.isUnion() ? type.types : [type];
    const all = members.flatMap((member) => this.#checker.getPropertiesOfType(member));
    return [...new Map(all.map((property) => [property.name, property])).values()];
  }

  #typeOf(packageName: string, typeName: string): ts.Type {
    const file = this.#program.getSourceFile(indexOf(packageName));
    const module = file && this.#checker.getSymbolAtLocation(file);
    const found = module && this.#checker.getExportsOfModule(module).find(({ name }) => name === typeName);
    if (!found) throw new Error(`@postcommit/${packageName} exports no ${typeName}`);
    const isAlias = (found.flags & ts.SymbolFlags.Alias) !== 0;
    return this.#checker.getDeclaredTypeOfSymbol(isAlias ? this.#checker.getAliasedSymbol(found) : found);
  }

  /** Of `{ … } | false` the object. */
  #objectIn(type: ts.Type): string[] {
    const members = type.isUnion() ? type.types : [type];
    const objects = members.filter(({ flags }) => (flags & ts.TypeFlags.Object) !== 0);
    return objects.flatMap((object) => object.getProperties().map(({ name }) => name));
  }
}

function indexOf(packageName: string): string {
  return join(root, 'packages', packageName, 'src/index.ts');
}
