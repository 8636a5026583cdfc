// Compares the tables of docs/ with the sources that they describe. Links, and citations in comments, must
// lead to headings that exist. A citation is a document, a comma, and a heading in quotes: docs/events.md,
// "Ids". Files that documents name must be in the repository.

import assert from 'node:assert/strict';
import { type Dirent, existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { EXIT } from '../src/cli/ctl/statuses.js';
import { tonearm } from '../src/client/client.js';
import { PROBLEMS } from '../src/gateway/problem.js';
import { ROUTES } from '../src/gateway/routes.js';
import { EVENTS } from '../src/protocol/actor/collections.js';
import { documentedPath } from '../src/protocol/actor/parameters.js';
import { BODIES, COMPONENTS, type ComponentName } from '../src/protocol/actor/schemas.js';
import { isRow, KEYS, type KeyTable } from '../src/supervisor/config/keys.js';

// build/test/docs.test.js -> the project's root
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCS = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const ROOT_DOCUMENTS = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
/** The folders whose comments may cite documents. */
const SOURCE_FOLDERS = ['src', 'test', 'packaging', 'bench', 'examples'];
const SOURCES_AND_DOCS = [...SOURCE_FOLDERS, 'docs'];

/** `GET /server` and so on. */
const SERVED = ROUTES.map(({ method, path }) => `${method} ${documentedPath(path)}`);

interface Heading {
  readonly level: number;
  readonly title: string;
  readonly line: number;
}

/**
 * The lines of a document. The lines of its examples are empty, because `#` and `|` mean other things there.
 * They are not left out, so that all other lines keep their numbers.
 */
function linesOf(document: string): readonly string[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  return text.replace(/^```.*?^```$/gms, (block) => block.replace(/.+/g, '')).split('\n');
}

function headingsOf(document: string): readonly Heading[] {
  return linesOf(document).flatMap((text, line) => {
    const [, marks, title] = /^(#+) (.+)$/.exec(text) ?? [];
    return marks === undefined || title === undefined ? [] : [{ level: marks.length, title, line }];
  });
}

/** The lines below a heading, with those of its subheadings or without them. */
function linesBelow(
  document: string,
  title: string,
  extent: 'with subheadings' | 'alone' = 'alone',
): readonly string[] {
  const headings = headingsOf(document);
  const heading = headings.find((candidate) => candidate.title === title);
  assert.ok(heading, `${document} has the heading ${title}`);
  const next = headings.find(
    ({ line, level }) => line > heading.line && (extent === 'alone' || level <= heading.level),
  );
  return linesOf(document).slice(heading.line + 1, next?.line);
}

/** True for the line between the head and the rows of a table, such as `|---|---|`. */
const isRule = (line = ''): boolean => /^\|[-| ]+\|$/.test(line);

/** The rows of all tables with this number of columns, each as a list of its cells. Heads are left out. */
function rowsIn(lines: readonly string[], columns: number): readonly (readonly string[])[] {
  return lines.flatMap((line, index) => {
    const isHead = isRule(lines[index + 1]);
    if (isHead || isRule(line) || !line.startsWith('|')) return [];
    const cells = line.replace(/^\| *| *\|$/g, '').split(/ *\| */);
    return cells.length === columns ? [cells] : [];
  });
}

/** The parts of a cell that stand in backticks. */
const codesIn = (cell = ''): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const firstCodeIn = (cell = ''): string => codesIn(cell)[0] ?? '';

test('the routes in docs are those of the source', () => {
  // Each table of routes has its own number of columns, from two to five.
  const rows = [5, 4, 3, 2].flatMap((columns) =>
    rowsIn(linesBelow('docs/http-api.md', 'Routes', 'with subheadings'), columns),
  );
  const listed = rows.map(([route]) => firstCodeIn(route));
  assert.deepEqual(listed.toSorted(), SERVED.toSorted());
});

test('no document names a route that does not exist', () => {
  const named = DOCS.flatMap((document) => linesOf(document).flatMap((line) => codesIn(line)));
  const routes = named.filter((code) => /^(?:GET|POST) \//.test(code));
  const unknown = routes.filter((route) => !SERVED.includes(route));
  assert.deepEqual(unknown, []);
});

test('the events in docs are those of the source', () => {
  const listed = rowsIn(linesBelow('docs/events.md', 'Events'), 4).map(([event]) => firstCodeIn(event));
  assert.deepEqual(listed.toSorted(), Object.keys(EVENTS).toSorted());
});

test('the keys of the configuration and their defaults in docs are those of the source', () => {
  const rows = rowsIn(linesBelow('docs/configuration.md', 'Keys', 'with subheadings'), 4);
  const listed = rows.map(
    ([key, , byDefault = '']) => `${firstCodeIn(key)}: ${firstCodeIn(byDefault) || byDefault}`,
  );
  assert.deepEqual(listed.toSorted(), defaultsIn(KEYS).toSorted());
});

/**
 * `KEY: DEFAULT` for each key. A default names the variables on which it depends, such as $XDG_STATE_HOME.
 */
function defaultsIn(table: KeyTable, path = ''): readonly string[] {
  // `xdgDirectory` ignores relative paths, so both values begin with a slash. The slash is removed below.
  const environment = {
    env: { XDG_RUNTIME_DIR: '/$XDG_RUNTIME_DIR', XDG_STATE_HOME: '/$XDG_STATE_HOME' },
    home: '',
    hostname: 'HOSTNAME',
    uid: 0,
  };
  return Object.entries(table).flatMap(([name, row]) => {
    if (!isRow(row)) return defaultsIn(row, `${path}${name}.`);
    const value = row.byDefault(environment) ?? 'none';
    const isEmpty = typeof value === 'object' && Object.keys(value).length === 0;
    const printed = isEmpty ? JSON.stringify(value) : String(value).replace(/^\/\$/, '$');
    return [`${path}${name}: ${printed}`];
  });
}

test('the problems and their statuses in docs are those of the source', () => {
  const rows = rowsIn(linesBelow('docs/http-api.md', 'Errors'), 3);
  const listed = rows.map(([code, status]) => `${firstCodeIn(code)}: ${status}`);
  const expected = Object.entries(PROBLEMS).map(([code, { status }]) => `${code}: ${status}`);
  assert.deepEqual(listed.toSorted(), expected.toSorted());
});

test('the exit statuses of tonearm ctl in docs and manual are those of the source', () => {
  const expected = Object.values(EXIT).map(String);
  const listed = rowsIn(linesBelow('docs/ctl.md', 'Exit statuses'), 2).map(([status]) => status);
  assert.deepEqual(listed, expected);
  const manual = readFileSync(join(ROOT, 'packaging/man/tonearm-ctl.1'), 'utf8');
  assert.deepEqual(
    [...manual.matchAll(/^\.B (\d+)$/gm)].map(([, status]) => status),
    expected,
  );
});

test('examples of tonearm-setup in docs name the user, and every option of it in docs exists', () => {
  const script = readFileSync(join(ROOT, 'packaging/tonearm-setup'), 'utf8');
  const [, usage = ''] = /^USAGE='([^']+)'$/m.exec(script) ?? [];
  const options = optionsIn(usage);
  assert.ok(options.includes('--user'), usage);
  const lines = [...DOCS, 'README.md'].flatMap((document) =>
    readFileSync(join(ROOT, document), 'utf8')
      .split('\n')
      .map((text, index) => ({ text, place: `${document}:${index + 1}` })),
  );
  // An example is a line of its own. Some examples begin with root's prompt, `# `.
  const commandOf = (text: string) => /^ {4}(?:# )?(tonearm-setup .*)$/.exec(text)?.[1];
  const commands = lines.filter(({ text }) => commandOf(text) !== undefined);
  assert.ok(commands.length > 0);
  const namesUser = (text: string): boolean => /--user \w/.test(text);
  const isForAllUsers = (text: string): boolean => text.includes('--uninstall --all');
  const withoutUser = commands.filter(({ text }) => !namesUser(text) && !isForAllUsers(text));
  assert.deepEqual(withoutUser, []);

  const unknown = lines.flatMap(({ text, place }) =>
    [commandOf(text) ?? '', ...codesIn(text).filter((code) => code.startsWith('tonearm-setup '))]
      .flatMap(optionsIn)
      .filter((option) => !options.includes(option))
      .map((option) => `${place}: ${option}`),
  );
  assert.deepEqual(unknown, []);
});

function optionsIn(text: string): readonly string[] {
  return text.match(/--[a-z][a-z-]*/g) ?? [];
}

/** A file in one of the daemon's folders, as the sources write it: `tonearm/sleep.json`. */
const KEPT_FILE = /\btonearm\/[\w-]+\.(?:json|sock)\b/g;

test('the manual lists every file that the daemon keeps in its folders', () => {
  const manual = readFileSync(join(ROOT, 'packaging/man/tonearm.1'), 'utf8').replaceAll('\\-', '-');
  const kept = filesAndTexts()
    .filter(([file]) => file.startsWith('src/'))
    .flatMap(([, text]) => text.match(KEPT_FILE) ?? []);
  const missing = kept.filter((path) => !manual.includes(path));
  assert.deepEqual(missing, []);
  assert.ok(kept.length > 0);
});

test('the arguments of `npm run soak` in CONTRIBUTING.md are those of its usage', () => {
  const script = readFileSync(join(ROOT, 'packaging/soak.sh'), 'utf8');
  const [, usage = ''] = /echo 'usage: (npm run soak .*?)'/.exec(script) ?? [];
  assert.notEqual(usage, '');
  const document = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').replace(/\s+/g, ' ');
  assert.ok(document.includes(`\`${usage}\``), usage);
});

/** Records that have a table of their own. The table's heading is the record's name in words. */
const RECORDS: readonly ComponentName[] = [
  'Server',
  'Health',
  'BackendHealth',
  'Audio',
  'AudioServer',
  'Output',
  'Card',
  'Profile',
  'Port',
  'Client',
  'Network',
  'Sleep',
  'Service',
  'LogEntry',
  'Power',
  'Upgrade',
  'UpgradeRun',
  'Player',
  'Tracklist',
  'Node',
  'Bluetooth',
  'BluetoothDevice',
  'Problem',
];

/** `Backend health` for `BackendHealth`; a problem's table is that of the errors. */
function headingFor(name: ComponentName): string {
  if (name === 'Problem') return 'Errors';
  return name.replace(/(?!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** The part of JSON Schema that describes fields. */
interface PlainSchema {
  readonly type?: string;
  readonly anyOf?: readonly PlainSchema[];
  readonly properties?: Readonly<Record<string, PlainSchema>>;
  readonly required?: readonly string[];
}

const SCHEMAS_WITH_TABLE: readonly unknown[] = RECORDS.map((name) => COMPONENTS[name]);

/**
 * The paths of a schema's fields, also within objects that have no table of their own. A field that may be
 * absent has a question mark.
 */
function fieldsOf({ properties = {}, required = [] }: PlainSchema, path = ''): readonly string[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const inner = SCHEMAS_WITH_TABLE.includes(field) ? [] : fieldsOf(field, `${path}${name}.`);
    return [`${path}${name}${required.includes(name) ? '' : '?'}`, ...inner];
  });
}

for (const component of RECORDS) {
  test(`docs list the fields of ${component}, and say which may be absent, as its schema does`, () => {
    const rows = rowsIn(linesBelow('docs/http-api.md', headingFor(component)), 4);
    const listed = rows.map(([field, , absent]) => `${firstCodeIn(field)}${absent === '' ? '' : '?'}`);
    assert.deepEqual(listed.toSorted(), fieldsOf(COMPONENTS[component] as PlainSchema).toSorted());
  });
}

test('every record that answers a GET has a table in docs', () => {
  // Lists and the OpenAPI document need no table.
  const withoutTable =
    'Services Log Outputs Inputs Cards Clients Players Nodes BluetoothDevices OpenApi'.split(' ');
  const answers = ROUTES.flatMap((route) => ('schema' in route ? (route.schema ?? []) : []));
  const missing = answers.filter((name) => !withoutTable.includes(name) && !RECORDS.includes(name));
  assert.deepEqual(missing, []);
});

test('the fields of request bodies in docs are those of their schemas', () => {
  const listed = rowsIn(linesBelow('docs/http-api.md', 'Bodies'), 3).map(([field]) => firstCodeIn(field));
  const bodies = Object.values<unknown>(BODIES) as readonly PlainSchema[];
  const variants = bodies.flatMap((body) => body.anyOf ?? [body]);
  const expected = new Set(variants.flatMap(({ properties = {} }) => Object.keys(properties)));
  assert.deepEqual(listed.toSorted(), [...expected].toSorted());
});

test('the functions of the client in docs are those of the source, with their routes', async () => {
  const rows = rowsIn(linesBelow('docs/client.md', 'Functions'), 2);
  const listed = new Map(
    rows.map(([name, route]) => [firstCodeIn(name).replace(/\(.*/, ''), firstCodeIn(route)]),
  );
  const requests: string[] = [];
  const node = tonearm('http://node', {
    fetch: async (url, init) => {
      requests.push(`${init?.method} ${decodeURIComponent(String(url).slice('http://node'.length))}`);
      // A command succeeds only with this status.
      return Response.json(null, { status: 202 });
    },
  });
  // These members send no request.
  const otherMembers = ['transport', 'coverUrl', 'with'];
  const functions = Object.entries(node).filter(([name]) => !otherMembers.includes(name));
  assert.deepEqual([...listed.keys()].toSorted(), functions.map(([name]) => name).toSorted());
  // The value of each parameter is its own name in braces, so a request's path is the path in docs.
  for (const [name, call] of functions) {
    const parameters = listed.get(name)?.match(/\{\w+\}/g) ?? [];
    await (call as (...names: readonly string[]) => Promise<unknown>)(...parameters);
  }
  assert.deepEqual(requests.toSorted(), [...listed.values()].toSorted());
  const routesWithoutFunction = ['GET /', 'GET /ui', 'GET /ui/{file}', 'GET /events', 'GET /metrics'];
  assert.deepEqual([...requests, ...routesWithoutFunction].toSorted(), SERVED.toSorted());
});

for (const guide of DOCS.filter((document) => document.startsWith('docs/guides/'))) {
  test(`${guide} says after each example of a configuration how it takes effect`, () => {
    const sections = readFileSync(join(ROOT, guide), 'utf8').split(/^#+ /m);
    const configuration = new RegExp(`^ {4}(?:${Object.keys(KEYS).join('|')}):`, 'm');
    for (const section of sections) {
      const [, ...textsAfter] = section.split(configuration);
      for (const text of textsAfter)
        assert.match(text, /systemctl --user reload tonearm|tonearm-setup/, section);
    }
  });
}

/** The anchor that GitHub makes for a heading. */
function anchorOf(title: string): string {
  const plain = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  return plain.replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-');
}

for (const document of [...DOCS, ...ROOT_DOCUMENTS, 'bench/FIGURES.md']) {
  test(`the links of ${document} lead somewhere`, () => {
    const broken = linesOf(document).flatMap((line, index) =>
      [...line.matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^[a-z]+:/.test(target) && !leadsSomewhere(document, target))
        .map((target) => `${document}:${index + 1}: ${target}`),
    );
    assert.deepEqual(broken, []);
  });
}

function leadsSomewhere(document: string, target: string): boolean {
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? document : join(dirname(document), path);
  if (!existsSync(join(ROOT, file))) return false;
  return anchor === undefined || headingsOf(file).some(({ title }) => anchorOf(title) === anchor);
}

test('a heading is unique in its document, so that it can be cited', () => {
  const twice = DOCS.flatMap((document) => {
    const titles = headingsOf(document).map(({ title }) => title);
    return titles
      .filter((title, index) => titles.indexOf(title) < index)
      .map((title) => `${document}: ${title}`);
  });
  assert.deepEqual(twice, []);
});

const pathFromRoot = (entry: Dirent): string =>
  join(entry.parentPath ?? entry.path, entry.name).slice(ROOT.length);

/**
 * All sources, and the documents of the root, with their texts. The lines of a text are joined, because a
 * citation may be wrapped within a comment.
 */
function filesAndTexts(): readonly (readonly [file: string, text: string])[] {
  const files = SOURCE_FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/\.(?:png|bin|gz|br)$/.test(entry.name))
      .map(pathFromRoot),
  );
  return [...files, ...ROOT_DOCUMENTS].map((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    return [file, text.replace(/\n\s*(?:\/\/|\*(?!\/)|#)?\s*/g, ' ')] as const;
  });
}

test('every document and every heading that a text cites exists', () => {
  const cited = filesAndTexts().flatMap(([file, text]) =>
    [...text.matchAll(/\b(docs\/[\w/-]+\.md)(?:, "([^"]+)")?/g)].map(
      ([, document = '', title]) => [file, document, title] as const,
    ),
  );
  const missing = cited.filter(
    ([, document, title]) =>
      !DOCS.includes(document) ||
      (title !== undefined && !headingsOf(document).some((heading) => heading.title === title)),
  );
  assert.deepEqual(missing, []);
  assert.ok(cited.length > 0);
});

test('no text cites a section of a contract, because no contract is in the repository', () => {
  const citing = filesAndTexts().filter(([, text]) => /\bcontract(?:'s)?,? sections?\b/i.test(text));
  assert.deepEqual(citing, []);
});

/** A path below a folder of the project or of src. */
const PATH_BELOW_FOLDER =
  /(?<![\w/.~-])(?:src|test|bench|packaging|docs|examples|actors|cli|gateway|events|protocol|supervisor)\/[\w./-]*\w\/?/;
/** A file or a folder in backticks, such as `main.ts` and `pulse/`. */
const PATH_IN_BACKTICKS = /(?<=`)[\w.-][\w./-]*(?:\.(?:ts|mjs|cjs)|\/)(?=`)/;
const NAMED_FILE = new RegExp(`${PATH_BELOW_FOLDER.source}|${PATH_IN_BACKTICKS.source}`, 'g');

const PATHS = SOURCES_AND_DOCS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }).map(
    (entry) => `/${pathFromRoot(entry)}${entry.isDirectory() ? '/' : ''}`,
  ),
).concat(SOURCES_AND_DOCS.map((folder) => `/${folder}/`));

/** `name` is a whole path or the end of one; a module's `.ts` and a folder's `/` may be left out. */
const exists = (name: string): boolean =>
  ['', '.ts', '/'].some((ending) => PATHS.some((path) => path.endsWith(`/${name}${ending}`)));

/** `NAME` in a document stands for any backend or any bridge, so one of each is tried. */
const existsForSomeName = (name: string): boolean =>
  ['audio', 'mqtt'].some((child) => exists(name.replace('NAME', child)));

for (const document of ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'README.md', 'bench/FIGURES.md', ...DOCS]) {
  test(`${document} names files that exist`, () => {
    const lines = readFileSync(join(ROOT, document), 'utf8').split('\n');
    const missing = lines.flatMap((line, index) =>
      (line.match(NAMED_FILE) ?? [])
        .filter((name) => !existsForSomeName(name))
        .map((name) => `${document}:${index + 1}: ${name}`),
    );
    assert.deepEqual(missing, []);
  });
}

test('a file is found by its whole path or the end of it', () => {
  for (const name of ['src/main.ts', 'main.ts', 'architecture/', 'gateway/routes'])
    assert.ok(exists(name), name);
  for (const name of ['src/mine.ts', 'ain.ts', 'sources/', 'gateway/roads']) assert.ok(!exists(name), name);
  const text = 'see `mine.ts`, src/a/b.ts. Or `c/`, but `/audio/x.ts`, ~/src/d.ts and e.ts.';
  assert.deepEqual(text.match(NAMED_FILE), ['mine.ts', 'src/a/b.ts', 'c/']);
});
