import ts from 'typescript';
import { root } from '../../tools/root.js';

/** The functions that send a text to PostgreSQL: those of the drivers, and the project's wrappers. */
const SENDING = ['query', 'read', 'sql', '#sql'];
/** The functions that quote a name or a value. */
const QUOTING = ['escapeIdentifier', 'escapeLiteral'];

/**
 * The places where a text that is built at run time is sent to PostgreSQL.
 *
 * A text is safe when it is constant: a literal, or a template of literals. An object of src/database is safe:
 * it takes SQL only as a statement, which only the tag sql creates, with every value as a parameter; so the
 * tag must be used as a template tag, and not be called.
 *
 * Packages are not read, which takes most of the time: no type of theirs is a constant, so what has one is not safe.
 *
 * @param planted modules that exist only for the compiler, by path
 */
export function builtStatements(planted: Record<string, string> = {}): string[] {
  const config = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
  const { options, fileNames } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  const texts = new Map(Object.entries(planted).map(([path, text]) => [`${root}${path}`, text]));
  const host = ts.createCompilerHost(options, true);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, version) => {
    const text = host.readFile(path);
    return text === undefined ? undefined : ts.createSourceFile(path, text, version, true);
  };
  const isOurs = (path: string) => [`${root}src/`, `${root}tools/`].some((folder) => path.startsWith(folder));
  const sources = fileNames.filter(isOurs);
  const program = ts.createProgram(
    [...sources, ...texts.keys()],
    { ...options, noResolve: true, types: [] },
    host,
  );
  const checker = program.getTypeChecker();
  return program
    .getSourceFiles()
    .filter(({ fileName }) => isOurs(fileName))
    .flatMap((source) => findingsOf(source, checker));
}

function findingsOf(source: ts.SourceFile, checker: ts.TypeChecker): string[] {
  const path = source.fileName.slice(root.length);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const { expression } = node;
      const name = ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
      const [text] = node.arguments;
      if (SENDING.includes(name) && text !== undefined && !isKnown(text, checker)) {
        found.push(`${path}: ${name}(${text.getText().replaceAll(/\s+/g, ' ')})`);
      }
    } else if (ts.isObjectLiteralExpression(node) && path !== 'src/database/sql.ts') {
      const names = node.properties.map((property) => property.name?.getText());
      if (names.includes('strings') && names.includes('values')) {
        found.push(`${path}: a statement made by hand`);
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Whether the text is constant, so that no request and no row is part of it. */
function isKnown(node: ts.Expression, checker: ts.TypeChecker): boolean {
  if (ts.isTemplateExpression(node)) {
    return node.templateSpans.every(({ expression }) => isKnown(expression, checker) || isQuoted(expression));
  }
  const type = checker.getTypeAtLocation(node);
  const parts = type.isUnion() ? type.types : [type];
  return parts.every((part) => part.isStringLiteral() || part.isNumberLiteral() || isOfDatabase(part.symbol));
}

function isOfDatabase(symbol: ts.Symbol | undefined): boolean {
  const declarations = symbol?.declarations ?? [];
  const isThere = (node: ts.Declaration) => node.getSourceFile().fileName.startsWith(`${root}src/database/`);
  return declarations.length > 0 && declarations.every(isThere);
}

function isQuoted(node: ts.Expression): boolean {
  return (
    ts.isCallExpression(node) &&
    ts.isPropertyAccessExpression(node.expression) &&
    QUOTING.includes(node.expression.name.text)
  );
}
