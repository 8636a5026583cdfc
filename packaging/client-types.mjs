// Writes the declarations of `tonearm-client`, which import no other package. The compiler makes those of
// the client's own files, the schemas give the types of the daemon's records, and the table of operations
// gives the types of the functions.

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const COMPILE_DEADLINE_MS = 5 * 60_000;

/** Writes a `.d.ts` and a `.d.cts` for each file of src/client. Throws when they do not compile. */
export async function writeDeclarations(root, outdir) {
  const temporary = mkdtempSync(join(tmpdir(), 'tonearm-types-'));
  try {
    compile(root, temporary);
    cpSync(join(temporary, 'client'), outdir, { recursive: true });
    const tables = await daemonTables(root, temporary);
    const names = recordNames(root);
    const types = [recordTypes(names, tables), eventTypes(names, tables), functionTypes(names, tables)];
    writeFileSync(join(outdir, 'records.d.ts'), types.join('\n'));
    for (const name of readdirSync(outdir).filter((each) => each.endsWith('.d.ts'))) {
      const text = readFileSync(join(outdir, name), 'utf8');
      // A package without `"type": "module"` that requires the client needs `.d.cts` files for TypeScript.
      const required = text.replace(/(from '\.\/[\w-]+)\.js'/g, "$1.cjs'");
      writeFileSync(join(outdir, name.replace(/\.d\.ts$/, '.d.cts')), required);
    }
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function compile(root, outDir) {
  const project = join(outDir, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: join(root, 'src'),
    outDir,
    typeRoots: [join(root, 'node_modules/@types')],
  };
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions,
    files: [join(root, 'src/client/client.ts')],
    include: [],
  };
  writeFileSync(project, JSON.stringify(settings));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const done = spawnSync(process.execPath, [tsc, '-p', project], {
    encoding: 'utf8',
    timeout: COMPILE_DEADLINE_MS,
  });
  if (done.status !== 0)
    throw new Error(`The client does not compile: ${done.error?.message ?? ''}${done.stdout}${done.stderr}`);
}

/**
 * Names of the types that src/client/records.ts re-exports: the records of the daemon's schemas, and the
 * unions of its words.
 */
function recordNames(root) {
  const source = readFileSync(join(root, 'src/protocol/actor/schemas.ts'), 'utf8');
  const records = [...source.matchAll(/^export type (\w+) = Static<typeof \1>;$/gm)].map((match) => match[1]);
  return ['Backend', 'BackendState', 'ChildName', 'FaultCode', ...records, 'BodyOf'];
}

const namedSchemas = (names, schemas) =>
  new Map(names.filter((name) => name in schemas).map((name) => [schemas[name], name]));

/** The declarations of the types in `names`. */
function recordTypes(names, { schemas, BACKENDS, BACKEND_STATES, CHILD_NAMES, FAULTS }) {
  const words = {
    Backend: BACKENDS,
    ChildName: CHILD_NAMES,
    BackendState: BACKEND_STATES,
    FaultCode: Object.keys(FAULTS),
  };
  const known = namedSchemas(names, schemas);
  const declare = (name) => {
    if (name in words) return `export type ${name} = ${union(words[name])};\n`;
    if (name !== 'BodyOf') return `export type ${name} = ${typeOf(schemas[name], known, '', true)};\n`;
    const bodies = Object.entries(schemas.BODIES).map(
      ([body, schema]) => `  ${body}: ${bodyType(schema, known)};\n`,
    );
    return `export interface Bodies {\n${bodies.join('')}}\n\nexport type BodyOf<K extends keyof Bodies> = Bodies[K];\n`;
  };
  const head = '// Made from the schemas and tables of the daemon by packaging/client-types.mjs.';
  return `${head}\n\nimport type { Binary } from './platform.js';\n\n${names.map(declare).join('\n')}`;
}

/** The interface `Events`, which has the type of the data of each event. */
function eventTypes(names, { schemas, EVENTS }) {
  const known = namedSchemas(names, schemas);
  const fields = Object.entries(EVENTS).map(
    ([type, name]) => `  readonly '${type}': ${typeOf(schemas.COMPONENTS[name], known, '  ')};\n`,
  );
  return `export interface Events {\n${fields.join('')}}\n`;
}

/** The function types that src/client/records.ts derives, written out. */
function functionTypes(names, { schemas, OPERATIONS, parametersOf, allowedValues, PARAMETERS }) {
  const known = namedSchemas(names, schemas);
  const argument = (name) => {
    const type = PARAMETERS[name] === 'name' ? 'string' : 'string | number';
    return `${name}: ${allowedValues(name) === undefined ? type : union(allowedValues(name))}`;
  };
  const declare = ([name, { kind, path, summary, body, isBodyRequired, method, schema }]) => {
    const lastArguments = body === undefined ? [] : [`body${isBodyRequired ? '' : '?'}: BodyOf<'${body}'>`];
    if (kind === 'log') lastArguments.push('query?: { readonly lines?: number }');
    const typeOfGet = schema === undefined ? 'Binary' : typeOf(schemas.COMPONENTS[schema], known, '  ');
    const answer = method === 'POST' ? 'void' : typeOfGet;
    const args = [...parametersOf(path).map(argument), ...lastArguments].join(', ');
    return `  /** ${summary}. */\n  readonly ${name}: (${args}) => Promise<${answer}>;\n`;
  };
  const functions = Object.entries(OPERATIONS).map(declare).join('');
  return [
    '/** Each rejects with a `ProblemError`. Those that change something resolve when the change is accepted. Names are encoded for you. */',
    `export interface Routes {\n${functions}}\n`,
    'export type RouteName = keyof Routes;\n',
  ].join('\n');
}

/** The daemon's module of schemas, as `schemas`, and all its tables by their names. */
async function daemonTables(root, temporary) {
  const outfile = join(temporary, 'words.mjs');
  const from = (file) => JSON.stringify(join(root, 'src/protocol/actor', file));
  const contents = [
    `export * as schemas from ${from('schemas.ts')};`,
    `export * from ${from('backends.ts')};`,
    `export * from ${from('collections.ts')};`,
    `export * from ${from('faults.ts')};`,
    `export * from ${from('operations.ts')};`,
    `export * from ${from('parameters.ts')};`,
  ].join('\n');
  await build({
    stdin: { contents, resolveDir: root },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
  });
  return import(pathToFileURL(outfile).href);
}

const union = (values) => values.map((value) => `'${value}'`).join(' | ');

/** The schema of a member that must not be there. */
const NEVER = { not: {} };

const SIMPLE = { string: 'string', number: 'number', integer: 'number', boolean: 'boolean' };

/**
 * The type of a schema. Supports only what the schemas use of JSON Schema. It throws on any other `type`,
 * but makes `unknown` of a schema without one. With `whole` the type is written out even if it has a name.
 */
function typeOf(schema, known, indent, whole = false) {
  const name = whole ? undefined : known.get(schema);
  if (name !== undefined) return name;
  if (schema === NEVER) return 'never';
  if (schema.enum !== undefined) return union(schema.enum);
  if (schema.const !== undefined) return JSON.stringify(schema.const).replaceAll('"', "'");
  if (schema.anyOf !== undefined) return schema.anyOf.map((one) => typeOf(one, known, indent)).join(' | ');
  if (schema.type === 'array') return `Array<${typeOf(schema.items, known, indent)}>`;
  if (schema.properties !== undefined) return objectType(schema, known, indent);
  if (schema.type === 'object')
    return `Record<string, ${typeOf(schema.additionalProperties, known, indent)}>`;
  if (schema.type in SIMPLE) return SIMPLE[schema.type];
  if (schema.type === undefined) return 'unknown';
  throw new Error(`No type for the schema ${JSON.stringify(schema)}`);
}

/**
 * TypeScript lets an object have the members of several alternatives, so each one excludes the members of the
 * others.
 */
function bodyType(schema, known) {
  const alternatives = schema.anyOf ?? [schema];
  const members = new Set(alternatives.flatMap(({ properties }) => Object.keys(properties)));
  const types = alternatives.map((one) => {
    const excluded = [...members].filter((name) => !(name in one.properties));
    const never = Object.fromEntries(excluded.map((name) => [name, NEVER]));
    return objectType({ ...one, properties: { ...one.properties, ...never } }, known, '  ');
  });
  return types.join(' | ');
}

function objectType({ properties, required = [] }, known, indent) {
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description === undefined ? '' : `${inner}/** ${schema.description} */\n`;
    return `${comment}${inner}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema, known, inner)};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}
