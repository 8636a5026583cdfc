// The rules of the architecture. Each rule takes source files, and returns one complaint for each breach.

import { BOUNDARIES, BUSES, EDGES, HOLDERS, LAZY, NOT_IN_MAIN, PACKAGES, PROGRAMS } from './boundaries.js';
import { type Import, lineAt, type SourceFile } from './source-file.js';
import { WRITING } from './writing.js';

export type Check = (files: readonly SourceFile[]) => readonly string[];

/** Makes a check that applies `check` to each file whose path begins with `folder`. */
function eachFile(folder: string, check: (file: SourceFile) => readonly string[]): Check {
  return (files) => files.filter(({ path }) => path.startsWith(folder)).flatMap(check);
}

interface SearchedPlaces {
  /** Returns true for a file that may contain the pattern. */
  readonly except?: (path: string) => boolean;
  /** The folder whose files are searched, by default `src/`; '' for all files. */
  readonly below?: string;
  /** The part of each file that is searched, by default `code`. Only `text` has comments and strings. */
  readonly in?: 'code' | 'text';
}

/** Makes a check that complains about each match of `pattern`. */
function refuses(
  pattern: RegExp,
  why: string,
  { except = () => false, below = 'src/', in: part = 'code' }: SearchedPlaces = {},
): Check {
  return eachFile(below, (file) => {
    if (except(file.path)) return [];
    const matches = file[part].matchAll(new RegExp(pattern, 'gm'));
    return [...matches].map(
      ({ 0: found, index }) => `${file.path}:${lineAt(file.text, index)}: ${found.trim()}: ${why}`,
    );
  });
}

/**
 * Returns the name that `*` stands for, if the path begins with the pattern. For `src/actors/*.ts` and
 * `src/actors/dial.ts` it is `dial`. For a pattern without `*` it is ''. Returns undefined if the path does
 * not begin with the pattern.
 */
function nameAtStar(pattern: string, path: string): string | undefined {
  const [head = '', tail] = pattern.split('*');
  if (!path.startsWith(head)) return undefined;
  if (tail === undefined) return '';
  const name = /^[^/.]+/.exec(path.slice(head.length))?.[0];
  if (name === undefined) return undefined;
  return path.startsWith(`${head}${name}${tail}`) ? name : undefined;
}

function isImportAllowed(path: string, { target, typeOnly }: Import): boolean {
  const row = BOUNDARIES.find(({ files }) => nameAtStar(files, path) !== undefined);
  if (row === undefined) return false;
  if (target.startsWith('node:')) return row.builtins.split(' ').includes(target.slice('node:'.length));
  // The rule `packages` checks which files may import a package.
  if (!target.startsWith('src/')) return packageOf(target) !== undefined;
  const ownPrefix = row.files.replace('*', nameAtStar(row.files, path) ?? '');
  if (target.startsWith(ownPrefix)) return true;
  const { mayImport, mayImportTypes = [] } = row;
  const allowed = typeOnly ? [...mayImport, ...mayImportTypes] : mayImport;
  return allowed.some((pattern) => nameAtStar(pattern, target) !== undefined);
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
  return Object.entries(PACKAGES).flatMap(([name, { in: prefixes, files: filesMax }]) => {
    const importers = files.filter(({ imports }) => imports.some(({ target }) => packageOf(target) === name));
    const complaints = importers
      .filter(({ path }) => !prefixes.some((prefix) => path.startsWith(prefix)))
      .map(({ path }) => `${path}: may not import ${name}`);
    const hasTooMany = filesMax !== undefined && importers.length > filesMax;
    return hasTooMany ? [...complaints, `${name} is imported by more than ${filesMax} files`] : complaints;
  });
};

/** True if the file at `path` may import `target`. If HOLDERS has no row for `target`, every file may. */
const mayImportFile = (path: string, target: string): boolean =>
  HOLDERS[target]?.some((prefix) => path.startsWith(prefix)) ?? true;

const importersOfFiles: Check = eachFile('src/', (file) =>
  file.imports
    .filter(({ target }) => !mayImportFile(file.path, target))
    .map(({ target, line }) => `${file.path}:${line}: may not import ${target}`),
);

const mayOpen = (path: string, effect: string | undefined): boolean =>
  effect !== undefined && (BUSES[effect]?.some((prefix) => path.startsWith(prefix)) ?? false);

/**
 * Complains about each class that extends Bus, about each bus whose effect is no literal, and about each bus
 * that the file's folder may not open (`BUSES`). In `new Bus('power', {}, owner)` the effect is `power`. The
 * effect is read in `text`, because the literals in `code` are blank.
 */
const buses: Check = eachFile('src/', ({ path, code, text }) =>
  [...code.matchAll(/\b(?:new|extends) Bus\b(?:<[^>]*>)?\(?/g)]
    .map(({ 0: found, index }) => ({ index, effect: /^'(\w+)'/.exec(text.slice(index + found.length))?.[1] }))
    .filter(({ effect }) => !mayOpen(path, effect))
    .map(({ index, effect }) => `${path}:${lineAt(text, index)}: may not open a bus for ${effect}`),
);

/**
 * The paths of the file `first` and of all files that it loads, also indirectly. `isLoading` returns true if
 * an import loads a file.
 */
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
  const isLoading = ({ target, typeOnly, dynamic }: Import): boolean => {
    // The programs of PROGRAMS run instead of the daemon.
    const startsOtherProgram = dynamic && PROGRAMS.includes(target);
    return !typeOnly && !startsOtherProgram;
  };
  return [...filesLoadedFrom(files, 'src/main.ts', isLoading)]
    .filter((path) => NOT_IN_MAIN.some((prefix) => path.startsWith(prefix)))
    .map((path) => `${path}: is in the main thread`);
};

const mainStartsWithoutSchemas: Check = (files) =>
  [...filesLoadedFrom(files, 'src/main.ts', ({ typeOnly, dynamic }) => !typeOnly && !dynamic)]
    .filter((path) => LAZY.includes(path))
    .map((path) => `${path}: is loaded when the main thread starts`);

/**
 * Finds clocks, timers and randomness: also `monotonic()` of host/clock.ts, but not `clock.monotonic()`,
 * because that clock is an argument.
 */
const TIME =
  /\b(?:Date\.now\b|new Date\(\s*\)|Math\.random\b|performance\.now\b|(?<!\.)monotonic\(|process\.(?:hrtime|uptime)\b|(?:setTimeout|setInterval)\s*\(|random(?:UUID|Bytes|Int)\b)/;

const timeAtTheEdges: Check = refuses(
  TIME,
  'time and randomness are arguments, except in the files listed as edges',
  { except: (path) => Object.hasOwn(EDGES, path) },
);

/**
 * The row of a file in EDGES must be removed when the file reads no clock any more. Otherwise a later version
 * of the file could read a clock unnoticed.
 */
const edgesAreEdges: Check = (files) =>
  Object.keys(EDGES)
    .map((path) => ({ path, file: files.find((source) => source.path === path) }))
    .filter(({ file }) => file === undefined || !TIME.test(file.code))
    .map(({ path }) => `${path}: is listed as an edge and reads no clock`);

const header: Check = eachFile('', ({ path, text }) => {
  const beginning = text.replace(/^#!.*\n/, '').trimStart();
  return /^(?:\/\/ \S|\/\*\*?\s)/.test(beginning) ? [] : [`${path}: does not begin with what it is`];
});

const names: Check = eachFile('', ({ path }) =>
  /\/(?:utils?|common|types|helpers?|misc|shared|lib|stuff|constants|index)\.ts$/.test(path)
    ? [`${path}: the name does not say what it is`]
    : [],
);

/** The rules are reported in this order. */
export const RULES = {
  boundaries,
  packages,
  'who holds what': importersOfFiles,
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
  // At its top level, a module may have no `let` or `var`, and no empty list, map or set to be filled later.
  'no state of modules': refuses(
    /^(?:export )?(?:let|var)\s.*|^(?:export )?const \w+ = (?:new (?:Map|Set|WeakMap|WeakSet)(?:<.*>)?\(\s*\)|\[\s*\]);?$/,
    'a module holds no mutable state',
  ),
  // Some regular expressions must contain control characters. No check may be switched off except the check
  // for such characters.
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
