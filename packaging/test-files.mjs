// Which test files there are, of which kind, and which of them are meant by a part of a path, a part of a title, or a change. Paths
// are those of sources, below test/ and without their ending, such as `gateway/trust`.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const ENDING = '.test.ts';

/** The first that fits says what a file needs around it; units need nothing but Node. */
const KINDS = {
  nodes: /^(node\/|packaging\/installed-)/,
  packages: /^(packaging\/|tools\/fresh-checkout)/,
  brokers: /^(actors\/mqtt\/(bridge|outages|tls)|contract\/(mqtt|secrets))/,
  page: /^browser\//,
  load: /^(leaks\/|contract\/(audio-thread|bench|stream-crowd))/,
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

/** All sources that each test file imports, itself included, as paths from the project's root. */
async function imports(files) {
  const { metafile } = await build({
    entryPoints: files.map((file) => join('test', file + ENDING)),
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', packages: 'external' },
    ...{ outdir: 'build', write: false, metafile: true, logLevel: 'silent' },
  });
  const reached = (file) => {
    const seen = new Set([join('test', file + ENDING)]);
    // A set also goes through what is added to it meanwhile.
    for (const each of seen) {
      for (const { path, external } of metafile.inputs[each].imports) if (!external) seen.add(path);
    }
    return seen;
  };
  return new Map(files.map((file) => [file, reached(file)]));
}

/**
 * Names that are parts of paths choose files; the others are parts of titles, and choose tests in these files or, without any, in
 * all that hold that text, also in what they import from test/.
 * @returns {Promise<{ files: string[], titles: string[] }>}
 */
export async function matching(names) {
  const all = testFiles();
  const asPath = (name) => name.replace(/^\.?\/?(test\/)?/, '').replace(/\.test\.[jt]s$/, '');
  const found = names.map((name) => all.filter((file) => file.includes(asPath(name))));
  const titles = names.filter((_, at) => found[at].length === 0);
  const files = [...new Set(found.flat())].sort();
  if (files.length > 0 || titles.length === 0) return { files, titles };
  const texts = new Map();
  const text = (path) => {
    if (!texts.has(path)) texts.set(path, path.startsWith('test/') ? readFileSync(path, 'utf8') : '');
    return texts.get(path);
  };
  const holds = (paths) => titles.some((title) => [...paths].some((path) => text(path).includes(title)));
  const imported = await imports(all);
  const holding = all.filter((file) => holds(imported.get(file)));
  // A title may be put together of pieces: then it is looked for wherever that is quick.
  return { files: holding.length > 0 ? holding : testFiles('unit', 'daemon', 'page', 'fuzz'), titles };
}

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.split('\n').filter(Boolean);
}

/** Unit tests that import what differs from where this left main, and other tests that differ themselves. */
export async function changed() {
  const [base] = git('merge-base', 'main', 'HEAD');
  const differs = new Set([
    ...git('diff', '--name-only', base),
    ...git('ls-files', '--others', '--exclude-standard'),
  ]);
  const imported = await imports(testFiles('unit'));
  const isMeant = (file) =>
    differs.has(join('test', file + ENDING)) ||
    [...(imported.get(file) ?? [])].some((path) => differs.has(path));
  return testFiles().filter(isMeant);
}
