// The rules of the architecture: each takes source files and gives its complaints, one line each, with file
// and line.

import { BOUNDARIES, BUSES, EDGES, HOLDERS, LAZY, NOT_IN_MAIN, PACKAGES, PROGRAMS } from './boundaries.js';
import { type Import, lineAt, type SourceFile } from './source-file.js';
import { WRITING } from './writing.js';

export type Check = (files: readonly SourceFile[]) => readonly string[];

/** A check that looks at one file at a time, among those whose path begins with `folder`. */
function eachFile(folder: string, check: (file: SourceFile) => readonly string[]): Check {
  return (files) => files.filter(({ path }) => path.startsWith(folder)).flatMap(check);
}

interface Where {
  readonly except?: (path: string) => boolean;
  /** The folder whose files are checked, `src/` unless given; '' for all files. */
  readonly below?: string;
  /** Where `pattern` is searched for: `text` includes comments and strings. */
  readonly in?: 'code' | 'text';
}

/** A check that complains about each match of `pattern`. */
function refuses(
  pattern: RegExp,
  why: string,
  { except = () => false, below = 'src/', in: part = 'code' }: Where = {},
): Check {
  return eachFile(below, (file) =>
    except(file.path)
      ? []
      : [...file[part].matchAll(new RegExp(pattern, 'gm'))].map(
          ({ 0: found, index }) => `${file.path}:${lineAt(file.text, index)}: ${found.trim()}: ${why}`,
        ),
  );
}

/**
 * The name in the place of `*`, if the path begins with the pattern: `dial` for `src/actors/*.ts` and
 * `src/actors/dial.ts`. '' for a pattern without `*`, undefined for another path.
 */
function nameAtStar(pattern: string, path: string): string | undefined {
  const [head = '', tail] = pattern.split('*');
  if (!path.startsWith(head)) return undefined;
  if (tail === undefined) return '';
  const name = /^[^/.]+/.exec(path.slice(head.length))?.[0];
  return name !== undefined && path.slice(head.length + name.length).startsWith(tail) ? name : undefined;
}

function isImportAllowed(path: string, { target, typeOnly }: Import): boolean {
  const row = BOUNDARIES.find(({ files }) => nameAtStar(files, path) !== undefined);
  if (row === undefined) return false;
  if (target.startsWith('node:')) return row.builtins.split(' ').includes(target.slice('node:'.length));
  // The rule `packages` checks which files may import a package.
  if (!target.startsWith('src/')) return packageOf(target) !== undefined;
  const ownFiles = row.files.replace('*', nameAtStar(row.files, path) ?? '');
  const allowed = [...row.mayImport, ...(typeOnly ? (row.mayImportTypes ?? []) : [])];
  return target.startsWith(ownFiles) || allowed.some((pattern) => nameAtStar(pattern, target) !== undefined);
}

function packageOf(target: string): string | undefined {
  return Object.keys(PACKAGES).find((name) => target === name || target.startsWith(`${name}/`));
}

const boundaries: Check = eachFile('src/', (file) =>
  file.imports
    .filter((imported) => !isImportAllowed(file.path, imported))
    .map(({ target, line }) => `${file.path}:${line}: may not import ${target}`),
);

const packages: Check = (sources) => {
  const files = sources.filter(({ path }) => path.startsWith('src/'));
  return Object.entries(PACKAGES).flatMap(([name, holders]) => {
    const importing = files.filter(({ imports }) => imports.some(({ target }) => packageOf(target) === name));
    const strangers = importing
      .filter(({ path }) => !holders.in.some((prefix) => path.startsWith(prefix)))
      .map(({ path }) => `${path}: may not import ${name}`);
    const hasTooMany = importing.length > (holders.files ?? Number.POSITIVE_INFINITY);
    return hasTooMany ? [...strangers, `${name} is imported by more than ${holders.files} files`] : strangers;
  });
};

const holders: Check = eachFile('src/', (file) =>
  file.imports
    .filter(({ target }) => HOLDERS[target]?.every((prefix) => !file.path.startsWith(prefix)))
    .map(({ target, line }) => `${file.path}:${line}: may not hold ${target}`),
);

/**
 * Complains about each class that extends Bus, about each bus whose effect is no literal, and about each bus
 * that the file's folder may not open (`BUSES`). In `new Bus('power', {}, owner)` the effect is `power`.
 */
const buses: Check = eachFile('src/', ({ path, code, text }) =>
  [...code.matchAll(/\b(?:new|extends) Bus\b(?:<[^>]*>)?\(?/g)]
    .map(({ 0: found, index }) => ({ index, effect: /^'(\w+)'/.exec(text.slice(index + found.length))?.[1] }))
    .filter(({ effect = '' }) => !BUSES[effect]?.some((prefix) => path.startsWith(prefix)))
    .map(({ index, effect }) => `${path}:${lineAt(text, index)}: may not open a bus for ${effect}`),
);

/** Files that are loaded together with the first one. `isLoading` selects the imports that load a file. */
function filesLoadedFrom(
  files: readonly SourceFile[],
  first: string,
  isLoading: (imported: Import) => boolean,
): Set<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const reached = new Set<string>();
  const queue = [first];
  for (let path = queue.pop(); path !== undefined; path = queue.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    for (const imported of byPath.get(path)?.imports ?? []) {
      if (isLoading(imported) && byPath.has(imported.target)) queue.push(imported.target);
    }
  }
  return reached;
}

const mainDecodesNothing: Check = (files) => {
  const isLoaded = ({ target, typeOnly, dynamic }: Import): boolean =>
    !typeOnly && !(dynamic && PROGRAMS.includes(target));
  return [...filesLoadedFrom(files, 'src/main.ts', isLoaded)]
    .filter((path) => NOT_IN_MAIN.some((prefix) => path.startsWith(prefix)))
    .map((path) => `${path}: is in the main thread`);
};

const mainStartsWithoutSchemas: Check = (files) =>
  [...filesLoadedFrom(files, 'src/main.ts', ({ typeOnly, dynamic }) => !typeOnly && !dynamic)]
    .filter((path) => LAZY.includes(path))
    .map((path) => `${path}: is loaded when the main thread starts`);

/**
 * `monotonic()` of host/clock.ts is refused. `clock.monotonic()` is allowed, because that clock is an
 * argument.
 */
const TIME =
  /\b(?:Date\.now\b|new Date\(\s*\)|Math\.random\b|performance\.now\b|(?<!\.)monotonic\(|process\.(?:hrtime|uptime)\b|(?:setTimeout|setInterval)\s*\(|random(?:UUID|Bytes|Int)\b)/;

const timeAtTheEdges: Check = refuses(
  TIME,
  'time and randomness are arguments, except in the files listed as edges',
  { except: (path) => Object.hasOwn(EDGES, path) },
);

/**
 * A row of EDGES must go when its file reads no clock any more. Otherwise a later version of the file could
 * read a clock unnoticed.
 */
const edgesAreEdges: Check = (files) =>
  Object.keys(EDGES)
    .map((path) => ({ path, file: files.find((source) => source.path === path) }))
    .filter(({ file }) => file === undefined || !TIME.test(file.code))
    .map(({ path }) => `${path}: is listed as an edge and reads no clock`);

const header: Check = eachFile('', ({ path, text }) => {
  const first = text.replace(/^#!.*\n/, '').trimStart();
  return /^(?:\/\/ \S|\/\*\*?\s)/.test(first) ? [] : [`${path}: does not begin with what it is`];
});

const names: Check = eachFile('', ({ path }) =>
  /\/(?:utils?|common|types|helpers?|misc|shared|lib|stuff|constants|index)\.ts$/.test(path)
    ? [`${path}: the name does not say what it is`]
    : [],
);

/** In the order in which they are reported. */
export const RULES = {
  boundaries,
  packages,
  'who holds what': holders,
  'who opens which bus': buses,
  'main thread decodes nothing': mainDecodesNothing,
  'main thread starts without schemas': mainStartsWithoutSchemas,
  'time at the edges': timeAtTheEdges,
  'edges are edges': edgesAreEdges,
  'sentinels stay in the protocol': refuses(
    /\b0x[fF]{4}_?[fF]{4}\b|\b4_?294_?967_?295\b|>>>\s*0\b/,
    'the wire\u2019s "none" ends at the protocol',
    { except: (path) => path.startsWith('src/protocol/') },
  ),
  'only main ends the process': refuses(
    /\bprocess\.(?:exit|abort|reallyExit|kill)\s*\(/,
    'only src/main.ts may',
    { except: (path) => path === 'src/main.ts' },
  ),
  'no require and no code from texts': refuses(/\brequire\s*\(|\beval\s*\(|\bnew Function\b/, 'not here'),
  'no state of modules': refuses(
    /^(?:export )?(?:let|var)\s.*|^(?:export )?const \w+ = (?:new (?:Map|Set|WeakMap|WeakSet)(?:<.*>)?\(\s*\)|\[\s*\]);?$/,
    'a module holds no mutable state',
  ),
  'no switched-off checks': refuses(
    /@ts-(?:ignore|expect-error|nocheck)|biome-ignore(?! lint\/suspicious\/noControlCharactersInRegex: )|eslint-|c8 ignore/,
    'mend it instead',
    { in: 'text' },
  ),
  'no words of unfinished work': refuses(/\b(?:TODO|FIXME|XXX|HACK)\b|\bas any\b/, 'say it in an issue', {
    in: 'text',
  }),
  'comments begin with a subject': refuses(
    /(?:\/\/|\/\*\*|^\s*\*) (?:Of|What|Whose|Who|Whether|As) .*/,
    'a reader in a hurry needs a sentence',
    { below: '', in: 'text' },
  ),
  'comments use plain verbs': refuses(
    /(?:\/\/|\/\*\*|^\s*\*) .*\b(?:told|owed|says of|so manieth)\b.*/,
    'an event is sent, a record published, a state known',
    { below: '', in: 'text' },
  ),
  header,
  names,
  ...WRITING,
} as const satisfies Record<string, Check>;

export type RuleName = keyof typeof RULES;
