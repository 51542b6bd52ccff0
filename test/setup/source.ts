import { readdir, readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import ts from 'typescript';
import { root } from '../../tools/root.js';

const { dirname, join, relative } = posix;

/** A module of the source: its imports, and its exports without a comment. */
export interface Module {
  path: string;
  /** Imported project files, and packages, by name. */
  imports: string[];
  /** Its type-only imports. */
  typeImports: string[];
  readsEnvironment: boolean;
  /** The exported functions without a comment. */
  undocumented: string[];
}

/** All files and folders under a folder, as paths from the root of the project. */
export async function list(folder: string): Promise<{ files: string[]; folders: string[] }> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  const paths = (wanted: typeof entries) =>
    wanted.map((entry) => join(relative(root, entry.parentPath), entry.name)).sort();
  return {
    files: paths(entries.filter((entry) => entry.isFile())),
    folders: paths(entries.filter((entry) => entry.isDirectory())),
  };
}

/** Parses a module with the compiler, so that comments and strings are not taken for code. */
export async function readModule(path: string): Promise<Module> {
  const text = await readFile(join(root, path), 'utf8');
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const module: Module = { path, imports: [], typeImports: [], readsEnvironment: false, undocumented: [] };
  const visit = (node: ts.Node): void => {
    const target = targetOf(node, path);
    if (target !== undefined) {
      module.imports.push(target);
      if (isForTypes(node)) {
        module.typeImports.push(target);
      }
    }
    if (target === 'node:process' || node.getText(source) === 'process.env') {
      module.readsEnvironment = true;
    }
    if (
      ts.isFunctionDeclaration(node) &&
      ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Export &&
      ts.getJSDocCommentsAndTags(node).length === 0
    ) {
      module.undocumented.push(`${path}: ${node.name?.text}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return module;
}

/**
 * What modules of src read and write of types of packages that another module extends with `declare module`: an import that
 * no line shows.
 *
 * @returns pairs: the module, and the one whose declaration it uses
 */
export function listAugmentationUses(): [user: string, declarer: string][] {
  const configPath = join(root, 'tsconfig.json');
  const { config } = ts.readConfigFile(configPath, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const files = ts.sys.readDirectory(join(root, 'src'), ['.ts']);
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  const sources = program.getSourceFiles().filter(({ fileName }) => files.includes(fileName));
  const added = new Set(sources.flatMap(addedNames));
  const uses = new Set<string>();
  for (const source of sources) {
    const visit = (node: ts.Node): void => {
      for (const declaration of usedProperty(node, checker, added)?.declarations ?? []) {
        const declarer = declaration.getSourceFile().fileName;
        if (declarer !== source.fileName && files.includes(declarer) && isInModuleBlock(declaration)) {
          uses.add(JSON.stringify([relative(root, source.fileName), relative(root, declarer)]));
        }
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return [...uses].map((use) => JSON.parse(use));
}

/** The property that a node reads (`request.tenant`, `{ tenant }`) or writes (`{ policy: … }`). */
function usedProperty(
  node: ts.Node,
  checker: ts.TypeChecker,
  names: ReadonlySet<string>,
): ts.Symbol | undefined {
  if (ts.isPropertyAccessExpression(node) && names.has(node.name.text)) {
    return checker.getSymbolAtLocation(node.name);
  }
  if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
    const name = (node.propertyName ?? node.name).getText();
    return names.has(name) ? checker.getTypeAtLocation(node.parent).getProperty(name) : undefined;
  }
  if (
    (ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node)) &&
    names.has(node.name.getText())
  ) {
    const type = checker.getContextualType(node.parent);
    return type && checker.getApparentType(type).getProperty(node.name.getText());
  }
  return undefined;
}

/** The names of the properties that a module adds with `declare module`. */
function addedNames(source: ts.SourceFile): string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isPropertySignature(node) || ts.isMethodSignature(node)) && isInModuleBlock(node)) {
      names.push(node.name.getText(source));
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

function isInModuleBlock(node: ts.Node): boolean {
  return ts.isModuleBlock(node) || (node.parent !== undefined && isInModuleBlock(node.parent));
}

/** The target of `import … from`, `export … from` and `import()`. */
function targetOf(node: ts.Node, path: string): string | undefined {
  let target: ts.Expression | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    target = node.moduleSpecifier;
  } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    target = node.arguments[0];
  }
  if (target === undefined || !ts.isStringLiteral(target)) {
    return undefined;
  }
  return target.text.startsWith('.') ? join(dirname(path), target.text).replace(/\.js$/, '.ts') : target.text;
}

function isForTypes(node: ts.Node): boolean {
  return (
    (ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) ||
    (ts.isExportDeclaration(node) && node.isTypeOnly)
  );
}
