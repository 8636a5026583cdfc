// Decides of which kind each test file is. It also finds the files for a part of a path, for a part of a
// title, or for what differs from main. A path is that of a source, below test/ and without its ending, such
// as `gateway/trust`.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const ENDING = '.test.ts';

/**
 * The kinds of tests by what a file needs around it, and how long it takes; the first match wins. Most units
 * need nothing but Node.
 */
const KINDS = {
  hardware: /^hardware\//,
  nodes: /^(node\/|packaging\/installed-)/,
  packages: /^(packaging\/|tools\/fresh-checkout)/,
  brokers: /^(actors\/mqtt\/(bridge|outages|tls)|contract\/(mqtt|proxies|secrets|driven\/broker))/,
  seldom: /^browser\/page-(away|seldom-states)/,
  engines: /^browser\/.*-engines/,
  page: /^browser\//,
  load: /^(leaks\/|contract\/(bench|stream-crowd)|crash\/deaths|gateway\/events\/(storm|slow))/,
  long: /^(bench\/|tools\/(runner|start)|contract\/(access|addresses|example-backend|real-|silent-|trace))/,
  fuzz: /^fuzz\//,
  daemon: /^(contract|tools|bench|actors\/audio\/real-)/,
  unit: /^/,
};

export const kindOf = (file) => Object.keys(KINDS).find((kind) => KINDS[kind].test(file));

export function testFiles(...kinds) {
  const names = readdirSync('test', { recursive: true }).filter((name) => name.endsWith(ENDING));
  const files = names.map((name) => name.slice(0, -ENDING.length)).sort();
  return kinds.length === 0 ? files : files.filter((file) => kinds.includes(kindOf(file)));
}

export const compiled = (file) => join('build/test', `${file}.test.js`);

/**
 * A file gets a process of its own if it has hooks for all its tests, changes the process, or makes threads
 * die.
 */
const ALONE = /^(?:before|after)(?:Each)?\(|\bprocess\.(?:on|once|chdir|umask)\b|\bmock\.|\bglobalThis\b/m;
const needsProcess = (file) =>
  kindOf(file) !== 'unit' ||
  /^crash\//.test(file) ||
  ALONE.test(readFileSync(join('test', file + ENDING), 'utf8'));
/** This many files share a process, because its start is a third of the time of a unit test. */
const TOGETHER = 12;

/** Compiled test files that together run `files`; units share processes. */
export function together(files) {
  const alone = files.filter(needsProcess);
  const others = files.filter((file) => !alone.includes(file));
  const folder = 'build/test/together';
  mkdirSync(folder, { recursive: true });
  const groups = Array.from({ length: Math.ceil(others.length / TOGETHER) }, (_, at) => {
    const lines = others
      .slice(at * TOGETHER, (at + 1) * TOGETHER)
      // Static imports are all loaded before the first test runs. Dynamic ones would count as its time.
      .map((file) => `import '../${file}.test.js';`);
    const path = join(folder, `${at}.test.js`);
    writeFileSync(path, `${lines.join('\n')}\n`);
    return path;
  });
  return [...groups, ...alone.map(compiled)];
}

/** All sources that each test file imports, itself included, as paths from the project's root. */
async function imports(files) {
  const { metafile } = await build({
    entryPoints: files.map((file) => join('test', file + ENDING)),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    outdir: 'build',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const reached = (file) => {
    const loaded = new Set([join('test', file + ENDING)]);
    // A set also goes through what is added to it meanwhile.
    for (const each of loaded) {
      for (const { path, external } of metafile.inputs[each].imports) if (!external) loaded.add(path);
    }
    return loaded;
  };
  return new Map(files.map((file) => [file, reached(file)]));
}

/**
 * A template literal may make a title. A name matches the template if the name contains one of its fixed
 * pieces, with at least this many letters.
 */
const PIECE_LEAST = 4;

/** True when a source may hold a title that contains `name` and is composed of pieces. */
function mayMake(source, name) {
  const templates = [...source.matchAll(/`([^`\n]*\$\{[^`\n]*)`/g)];
  const pieces = templates.flatMap(([, template]) =>
    template.split(/\$\{.*?\}/).map((piece) => piece.trim()),
  );
  return pieces.some((piece) => piece.length >= PIECE_LEAST && name.includes(piece));
}

/**
 * Names that are parts of paths choose files. All other names are parts of titles, and choose tests in these
 * files. If no name chooses a file, the files are those that hold such a title, or that import a file of
 * test/ that holds one.
 * @returns {Promise<{ files: string[], titles: string[] }>}
 */
export async function matching(names) {
  const all = testFiles();
  // Example: `./build/test/gateway/trust.test.js` becomes `gateway/trust.test.ts`.
  const asPath = (name) => name.replace(/^\.?\/?((build\/)?test\/)?/, '').replace(/\.js$/, '.ts');
  const found = names.map((name) => all.filter((file) => (file + ENDING).includes(asPath(name))));
  const titles = names.filter((_, at) => found[at].length === 0);
  const files = [...new Set(found.flat())].sort();
  if (files.length > 0 || titles.length === 0) return { files, titles };
  const imported = await imports(all);
  const paths = [...new Set([...imported.values()].flatMap((each) => [...each]))];
  const sources = paths
    .filter((path) => path.startsWith('test/'))
    .map((path) => [path, readFileSync(path, 'utf8')]);
  const holding = (fits) => {
    const hits = sources.filter(([, source]) => titles.some((title) => fits(source, title)));
    return all.filter((file) => hits.some(([path]) => imported.get(file).has(path)));
  };
  const literal = holding((source, title) => source.includes(title));
  return { files: literal.length > 0 ? literal : holding(mayMake), titles };
}

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.split('\n').filter(Boolean);
}

/** The unit tests that import a file which differs from the commit at which this branch left main. */
export async function changed() {
  const [base] = git('merge-base', 'main', 'HEAD');
  const untracked = git('ls-files', '--others', '--exclude-standard');
  const differs = new Set([...git('diff', '--name-only', base), ...untracked]);
  const imported = await imports(testFiles('unit'));
  return testFiles('unit').filter((file) => [...imported.get(file)].some((path) => differs.has(path)));
}
