// Checks that the bundles for browsers use nothing that one of BROWSERS lacks, because esbuild lowers syntax
// but no functions. Each global, member and CSS feature of the platform that a bundle uses needs a row in
// browser-features.json. A feature without a row counts as missing, and fails the build.

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { BROWSERS, BROWSERS_TEXT } from './browsers.mjs';
import { featuresOfStyle } from './style-features.mjs';

const require = createRequire(import.meta.url);
const TABLE = new URL('browser-features.json', import.meta.url);

/** The names that bundles may use although a browser lacks them or they have no row, by their reason. */
const REASONS = {
  'a member of our own records, classes and options': [
    '.address',
    '.check',
    '.connection',
    '.cookie',
    '.device',
    '.for',
    '.icon',
    '.input',
    '.inputs',
    '.lines',
    '.output',
    '.outputs',
    '.path',
    '.percent',
    '.retry',
    '.since',
    '.subscribe',
    '.t',
    '.to',
    '.tracks',
    '.until',
    '.use',
  ],
  'preact looks whether it exists': ['.moveBefore'],
  'older than all of these browsers, and therefore without a row in the data': [
    '.done',
    '.fontSize',
    '.prototype',
    'addEventListener',
    'fr',
    'minmax()',
    'px',
    'repeat()',
    's',
    '-webkit-box-orient',
    '-webkit-box-orient: vertical',
    '-webkit-line-clamp',
  ],
  'for one engine, beside what the others have': [
    '-webkit-text-size-adjust',
    'text-size-adjust',
    '-webkit-user-select',
    '-webkit-user-select: none',
    'user-select',
    ':-moz-progress-bar',
    ':-webkit-details-marker',
    ':-webkit-progress-bar',
    ':-webkit-progress-value',
    '-webkit-tap-highlight-color',
    '-webkit-tap-highlight-color: transparent',
  ],
  'without it the page looks a little different, or draws more than it must': [
    'accent-color',
    'contain-intrinsic-size',
    'contain-intrinsic-size: auto',
    'content-visibility',
    'content-visibility: auto',
    'dvh',
    'outline',
  ],
  'for a mode of display that the browser does not have then': [
    '@media forced-colors',
    'forced-color-adjust',
    'forced-color-adjust: none',
  ],
};
export const ALLOWED = new Set(Object.values(REASONS).flat());

/**
 * True if `version` is `needed` or newer, as '15.4' is newer than '15'. `-` means that no version has the
 * feature.
 */
function isAtLeast(version, needed) {
  if (needed === '-') return false;
  const [have, want] = [version, needed].map((text) => text.split('.').map(Number));
  const at = have.findIndex((part, index) => part !== (want[index] ?? 0));
  if (at >= 0) return have[at] > (want[at] ?? 0);
  // All parts of `version` equal those of `needed`. `version` is older if `needed` has one more part that is
  // not 0, as 15.4 has one more than 15.
  return (want[have.length] ?? 0) === 0;
}

/**
 * The browsers that lack a feature. `versions` has the first version of each browser that has the feature:
 * `100 100 15.4`.
 */
function lacking(versions) {
  const needed = versions.split(' ');
  return BROWSERS.filter(({ version }, index) => !isAtLeast(version, needed[index])).map(({ name }) => name);
}

/** @throws {Error} which names each feature without a row, and each that a browser lacks. */
function checkFeatures(bundle, features) {
  const rows = JSON.parse(readFileSync(TABLE, 'utf8'));
  const problems = [...features].sort().flatMap((feature) => {
    if (ALLOWED.has(feature)) return [];
    if (!Object.hasOwn(rows, feature)) return [`${feature}: no row in packaging/browser-features.json`];
    const names = lacking(rows[feature]);
    return names.length === 0 ? [] : [`${feature}: missing in ${names.join(', ')}`];
  });
  if (problems.length > 0)
    throw new Error(`${bundle} does not work in ${BROWSERS_TEXT}:\n${problems.join('\n')}`);
}

export const checkScript = (bundle, text) => checkFeatures(bundle, featuresOfScript(text));
export const checkStyle = (bundle, text) => checkFeatures(bundle, featuresOfStyle(text));

/**
 * The features that a script uses: globals (`fetch`), members of globals with a capital (`Object.hasOwn`),
 * and members of anything else (`.at`), if the platform has a member of that name.
 */
export function featuresOfScript(text) {
  const { program, errors } = parseSync('bundle.js', text);
  if (errors.length > 0) throw new Error(errors[0].message);
  const { declared, members } = namesIn(program);
  const platform = platformNames();
  const features = new Set();
  for (const name of references(program)) if (!declared.has(name)) features.add(name);
  for (const { object, member } of members) {
    const isOfGlobal = object !== undefined && !declared.has(object) && /^[A-Z]/.test(object);
    if (isOfGlobal) features.add(`${object}.${member}`);
    else if (platform.has(member)) features.add(`.${member}`);
  }
  return features;
}

/** The names that a program declares, and the members that it reads. */
function namesIn(program) {
  const declared = new Set();
  const members = [];
  const declare = (pattern) => {
    if (pattern?.type === 'Identifier') declared.add(pattern.name);
    else if (pattern?.type === 'AssignmentPattern') declare(pattern.left);
    else if (pattern?.type === 'RestElement') declare(pattern.argument);
    else if (pattern?.type === 'ArrayPattern') for (const each of pattern.elements) declare(each);
    else if (pattern?.type === 'ObjectPattern')
      for (const each of pattern.properties) declare(each.value ?? each);
  };
  const declareFunction = ({ id, params }) => {
    declare(id);
    for (const each of params) declare(each);
  };
  const visitor = new Visitor({
    VariableDeclarator: ({ id }) => declare(id),
    FunctionDeclaration: declareFunction,
    FunctionExpression: declareFunction,
    ArrowFunctionExpression: declareFunction,
    ClassDeclaration: ({ id }) => declare(id),
    ClassExpression: ({ id }) => declare(id),
    CatchClause: ({ param }) => declare(param),
    ImportSpecifier: ({ local }) => declare(local),
    ObjectPattern: ({ properties }) => {
      for (const { key } of properties) if (key?.type === 'Identifier') members.push({ member: key.name });
    },
    MemberExpression: ({ object, property, computed }) => {
      const of = object.type === 'Identifier' ? object.name : undefined;
      if (!computed && property.type === 'Identifier') members.push({ object: of, member: property.name });
    },
  });
  visitor.visit(program);
  return { declared, members };
}

/** The types of nodes in which an identifier may only name a member or a key. */
const NODES_WITH_NAME = new Set([
  'MemberExpression',
  'Property',
  'MethodDefinition',
  'PropertyDefinition',
  'ImportSpecifier',
  'ExportSpecifier',
]);
/** The fields of these nodes that hold such an identifier. */
const NAME_FIELDS = new Set(['property', 'key', 'imported', 'exported']);

/** All identifiers except those that only name a member or a key. */
function references(program) {
  const found = new Set();
  const visit = (node) => {
    if (node === null || typeof node !== 'object') return;
    if (node.type === 'Identifier') found.add(node.name);
    for (const [field, value] of Object.entries(node)) {
      const isName = NODES_WITH_NAME.has(node.type) && !node.computed && NAME_FIELDS.has(field);
      if (!isName) visit(value);
    }
  };
  visit(program);
  return found;
}

let platform;

/**
 * All members that the compiler's libraries declare. The compiler accepts no other member of the platform,
 * so every other name is the bundle's own.
 */
function platformNames() {
  platform ??= readPlatformNames();
  return platform;
}

function readPlatformNames() {
  // The libraries are in the compiler's package for this machine, such as
  // `@typescript/typescript-linux-x64`.
  const packages = dirname(dirname(require.resolve('typescript/package.json')));
  const scope = join(packages, '@typescript');
  const folder = join(scope, readdirSync(scope).find((name) => name.startsWith('typescript-')) ?? '', 'lib');
  const names = new Set();
  const note = ({ key }) => {
    if (key?.type === 'Identifier') names.add(key.name);
  };
  const visitor = new Visitor({ TSPropertySignature: note, TSMethodSignature: note });
  for (const file of readdirSync(folder).filter((name) => /^lib\.(?:dom|es).*\.d\.ts$/.test(name)))
    visitor.visit(parseSync(file, readFileSync(join(folder, file), 'utf8')).program);
  return names;
}
