// Lays out what is packed: builds tonearm once or takes an earlier build, lays its files out for each
// architecture in a folder that is removed afterwards, and refuses files that may never be shipped. Debian
// packages, RPM packages and tarballs are made from these folders.

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ROOT, run } from './command.mjs';
import { ARCHITECTURES, ownArchitecture } from './deb/architectures.mjs';
import { layOut } from './deb/tree.mjs';
import { fetchedNode } from './fetched-node.mjs';

/** The options that the scripts for RPM packages and for tarballs share. */
export const PACKING_OPTIONS = {
  arch: { type: 'string' },
  dist: { type: 'string' },
  out: { type: 'string', default: ROOT },
  version: { type: 'string' },
  fast: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

/** The version of package.json. */
export const ownVersion = () => JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;

/** Seconds since 1970: SOURCE_DATE_EPOCH, or the time of the commit, or that of package.json. */
export function buildTimeS() {
  const fixed = process.env.SOURCE_DATE_EPOCH;
  if (fixed !== undefined && fixed !== '') return Number(fixed);
  const commit = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' });
  if (commit.status === 0 && commit.stdout.trim() !== '') return Number(commit.stdout);
  return Math.floor(statSync(join(ROOT, 'package.json')).mtimeMs / 1000);
}

/** Files and links below a folder, relative to it, in the order of their names. */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1))
    .sort();
}

export function regularFilesBelow(folder) {
  return filesBelow(folder).filter((path) => lstatSync(join(folder, path)).isFile());
}

/** Lists files that may never be shipped: tests, maps, sources, natives of other machines. */
function foreign(tree, architecture) {
  return regularFilesBelow(tree).filter((path) => {
    if (/\.(?:map|ts|mts|test\.js)$|(?:^|\/)(?:test|tests|node_modules)\//.test(path)) return true;
    const bytes = readFileSync(join(tree, path));
    if (path.endsWith('.js') && bytes.includes('sourceMappingURL=')) return true;
    const isElf = bytes.subarray(0, 4).toString('latin1') === '\x7fELF';
    return isElf && bytes.readUInt16LE(18) !== ARCHITECTURES[architecture].elfMachine;
  });
}

/** The architectures that --arch asks for: one, this machine's own, or all that the form has. */
export function architecturesFor(arch, { architectures }) {
  if (arch === 'all') return architectures;
  const one = arch ?? ownArchitecture();
  if (architectures.includes(one)) return [one];
  throw new Error(`--arch must be one of ${architectures.join(', ')}, all`);
}

function ownNodeOf(form, architecture, report) {
  if (form.ownNode === undefined) return undefined;
  report(`using Node ${form.ownNode} for ${architecture}, which is fetched once`);
  const { problem, ...files } = fetchedNode(ROOT, form.ownNode, ARCHITECTURES[architecture].node);
  if (problem !== undefined) throw new Error(problem);
  return files;
}

/**
 * Answers with the folder of the bundles: the earlier build `dist` if it is given, else a new one in `work`.
 */
function builtFolder(dist, work, report) {
  if (dist === undefined) {
    const fresh = join(work, 'dist');
    report('building');
    run(process.execPath, ['packaging/build.mjs', '--dist-only', '--dist-dir', fresh]);
    return fresh;
  }
  const folder = resolve(dist);
  if (!existsSync(join(folder, 'main.js')))
    throw new Error(`--dist: ${folder} has no build: main.js is missing`);
  return folder;
}

/**
 * Calls `pack(architecture, tree)` for each architecture. `form` is a row of forms.mjs; `dist` is the folder
 * of an earlier build, or undefined.
 */
export function laidOut({ form, architectures, version, epochS, dist: earlier, report }, pack) {
  const work = mkdtempSync(join(tmpdir(), 'tonearm-package-'));
  try {
    const dist = builtFolder(earlier, work, report);
    for (const architecture of architectures) {
      const tree = join(work, architecture);
      mkdirSync(tree);
      const ownNode = ownNodeOf(form, architecture, report);
      layOut({ form, architecture, version, epochS, root: ROOT, dist, into: tree, ownNode });
      const wrong = foreign(tree, architecture);
      if (wrong.length > 0) throw new Error(`these files must not be in the package: ${wrong.join(', ')}`);
      pack(architecture, tree);
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
