// Makes packages, tarballs, RPMs and releases for tests, and reads what is in them. Each call writes into a
// folder of its caller, so that tests share nothing but the build that was made before all tests.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../temporary-folder.js';

export const run = promisify(execFile);

// build/test/packaging/built-package.js -> the project's root
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** The version in package.json. */
export const VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string })
  .version;

/** The build time is fixed, so that a difference between two builds can only come from the builder. */
const BUILD_TIME_S = 1_790_000_000;

/** Copies the checkout into a folder, except what these patterns of tar match, such as `./dist*`. */
export async function copyCheckout(to: string, ...excluded: readonly string[]): Promise<void> {
  const tarArguments = [
    '-C',
    ROOT,
    '--anchored',
    '--wildcards',
    ...excluded.map((path) => `--exclude=${path}`),
  ];
  await run('sh', ['-c', 'to=$1; shift; tar -c "$@" . | tar -x -C "$to"', 'copy', to, ...tarArguments]);
}

/** Resolves with what the builder printed. */
async function runBuilder(command: string, ...args: readonly string[]): Promise<string> {
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(BUILD_TIME_S) };
  const { stdout } = await run(command, [...args], { env });
  return stdout;
}

/** A new build would double the time of each packing, so tests pack the build that is there already. */
const USE_PRESENT_BUILD = ['--dist', join(ROOT, 'dist')];

/** Makes a new build and packages it, as somebody who has a checkout does. */
export const buildAndPackage = (...args: readonly string[]): Promise<string> =>
  runBuilder(process.execPath, join(ROOT, 'packaging/package.mjs'), ...args);

export const buildPackage = (...args: readonly string[]): Promise<string> =>
  buildAndPackage(...USE_PRESENT_BUILD, ...args);

export const buildTarball = (...args: readonly string[]): Promise<string> =>
  runBuilder(process.execPath, join(ROOT, 'packaging/tarball.mjs'), ...USE_PRESENT_BUILD, ...args);

export const buildRpm = (...args: readonly string[]): Promise<string> =>
  runBuilder(process.execPath, join(ROOT, 'packaging/rpm.mjs'), ...USE_PRESENT_BUILD, ...args);

/**
 * Builds a release without images and without an apt repository into `folder`. With `--trial`, the checkout
 * may have changes that are not committed.
 */
export const buildRelease = (folder: string, ...args: readonly string[]): Promise<string> => {
  const trial = ['--trial', '--no-image', '--out', folder, ...args];
  return runBuilder(process.execPath, join(ROOT, 'packaging/release.mjs'), VERSION, ...trial);
};

/** Begins a release that must be refused. If it is not refused, the release's files stay below `folder`. */
export const refusedRelease = (folder: string, version: string): Promise<string> => {
  const out = ['--no-image', '--out', join(folder, 'refused')];
  return runBuilder(process.execPath, join(ROOT, 'packaging/release.mjs'), version, ...out);
};

/**
 * The booted test system uses this machine's Node.js, which may not come from a Debian package. This empty
 * package satisfies the dependency on `nodejs` there.
 */
const NODEJS_CONTROL = `Package: nodejs
Version: 20.0.0-1
Architecture: all
Maintainer: nobody <nobody@tonearm.invalid>
Description: stands in for Node
`;

/** Builds the empty package `nodejs` into the folder. */
export async function buildStandIn(folder: string): Promise<void> {
  const script =
    'cd "$1" && mkdir -p nodejs/DEBIAN && cat > nodejs/DEBIAN/control && dpkg-deb --build nodejs .';
  const building = run('sh', ['-c', script, 'build', folder]);
  building.child.stdin?.end(NODEJS_CONTROL);
  await building;
}

const OUTPUT_MAX_BYTES = 16 * 1024 * 1024;

/** The output of a program, which must succeed. */
export async function output(command: string, ...args: readonly string[]): Promise<string> {
  return (await run(command, [...args], { encoding: 'utf8', maxBuffer: OUTPUT_MAX_BYTES })).stdout;
}

/**
 * A package that contains its own Node.js for Debian 12 has a version that ends with this
 * (packaging/deb/forms.mjs).
 */
export const FOR_DEBIAN_12 = '~deb12';

/**
 * The path of a package in a folder. `suffix` is the end of the package's version, such as FOR_DEBIAN_12.
 * Without it, the version must have no such end.
 */
export function packageIn(folder: string, name: string, architecture: string, suffix = ''): string {
  const isThePackage = (candidate: string) => {
    const [fileName, version = '', fileArchitecture] = candidate.split('_');
    const isVersionRight = suffix === '' ? !version.includes('~') : version.endsWith(suffix);
    return fileName === name && isVersionRight && fileArchitecture === `${architecture}.deb`;
  };
  const file =
    readdirSync(folder).find(isThePackage) ??
    assert.fail(`there is no ${name} for ${architecture} with the suffix '${suffix}' in ${folder}`);
  return join(folder, file);
}

const isFileOrLink = (line: string): boolean => /^[-l]/.test(line);

/** The paths of the package's files and links, as they will lie below `/`. */
export async function filesOf(file: string): Promise<readonly string[]> {
  const list = await output('dpkg-deb', '--contents', file);
  return list
    .split('\n')
    .filter(isFileOrLink)
    .map((line) => line.replace(/^.* \.\//, '').replace(/ -> .*$/, ''));
}

/** Unpacks a package into a fresh folder below `folder`, control files included. */
export async function extracted(file: string, folder: string): Promise<string> {
  const tree = mkdtempSync(join(folder, 'tree-'));
  await run('dpkg-deb', ['--raw-extract', file, tree]);
  return tree;
}

/** The flags that the command's script gives Node, between the program and main.js. */
export function flagsOf(tree: string, command = 'usr/bin/tonearm'): readonly string[] {
  const script = readFileSync(join(tree, command), 'utf8');
  const line = /^exec \S+ (.*) \S+\/main\.js "\$@"$/m.exec(script) ?? assert.fail(script);
  return (line[1] ?? '').split(' ');
}

/**
 * lintian's findings about a package. A finding that the package is not compressed is left out, because
 * tests do not compress packages.
 */
export function lintian(file: string): Promise<string> {
  const ignoredTags = ['control', 'data'].map((part) => `uses-no-compression-for-${part}-tarball`);
  const options = [
    '--allow-root',
    '--profile=debian',
    '--fail-on=none',
    '--suppress-tags',
    ignoredTags.join(),
  ];
  // lintian leaves files behind in TMPDIR.
  return output('env', `TMPDIR=${temporaryFolder()}`, 'lintian', ...options, file);
}
