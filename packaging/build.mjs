// Builds the project: `build/` holds one module per source file, for the tests; `dist/` holds the bundles
// that are shipped, the files of the page, and the licence texts of all that is in them; `dist-client/` is
// the npm package `tonearm-client`. The main thread and each actor have a bundle of their own, because
// separate isolates share no code. Unbundled packages cost 30 MB and 190 ms at start. Nothing here installs
// anything.
//
//   node packaging/build.mjs [--tests-only | --dist-only]
//     [--tests-dir DIR] [--dist-dir DIR] [--client-dir DIR]
//
// With --client-dir the client is built also with --tests-only or --dist-only.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, transformSync } from 'esbuild';
import { checkScript } from './browser-check.mjs';
import { TARGETS } from './browsers.mjs';
import { bundleName, bundleWithLateParts, NATIVE_UWS, NATIVE_UWS_TABLE, SHARED } from './bundles.mjs';
import { writeDeclarations } from './client-types.mjs';
import { computedModules } from './computed-modules.mjs';
import { checkEmittedImports } from './emitted-imports.mjs';
import { NATIVES, nativeFiles, SUPPORTED_NODES } from './natives.mjs';
import { thirdPartyNotices } from './notices.mjs';
import { buildPage } from './page.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const CLIENT_PACKAGE = {
  name: 'tonearm-client',
  version,
  description:
    'The typed client of tonearm, for browsers and Node: every route, and the state of a node kept live',
  license,
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20' },
  exports: {
    '.': {
      import: { types: './client.d.ts', default: './client.js' },
      require: { types: './client.d.cts', default: './client.cjs' },
    },
  },
  ...repositoryOf('src/client'),
};

/**
 * The `repository` of a package.json for the sources in a folder; empty if git's `origin` has no address
 * that begins with `https://` or `git@`.
 */
function repositoryOf(directory) {
  const { stdout = '' } = spawnSync('git', ['config', '--get', 'remote.origin.url'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  // Examples: `https://user:password@host/path.git`, `git@host:path.git`. User and password are left out,
  // because the address may have them in a continuous integration.
  const [, host, path] =
    /^(?:https:\/\/(?:[^/@]*@)?|git@)([\w.-]+)[/:]([\w./-]+?)(?:\.git)?\s*$/.exec(stdout) ?? [];
  if (host === undefined) return {};
  return { repository: { type: 'git', url: `git+https://${host}/${path}.git`, directory } };
}

/** Every TypeScript file below the given folders of the project. */
function sources(...folders) {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
  );
}

/**
 * Builds a new folder beside `outdir`, and then puts it in the place of `outdir`. So no output of deleted
 * sources stays, a failed build leaves the last good one, and a reader never sees the folder half written.
 * The folder's package.json has the content of `manifest`. Its file time is that at which the build began,
 * before the sources were read.
 */
async function replaceFolder(outdir, manifest, fill) {
  const begun = new Date();
  const fresh = `${outdir}.new-${process.pid}`;
  try {
    mkdirSync(fresh, { recursive: true });
    await fill(fresh);
    const stamp = join(fresh, 'package.json');
    writeFileSync(stamp, `${JSON.stringify(manifest, null, 2)}\n`);
    utimesSync(stamp, begun, begun);
    const old = `${outdir}.old-${process.pid}`;
    if (existsSync(outdir)) renameSync(outdir, old);
    renameSync(fresh, outdir);
    rmSync(old, { recursive: true, force: true });
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Builds one module per source file, so that tests import what they test, and stack traces name it. */
async function buildModules(outdir) {
  await build({
    ...SHARED,
    entryPoints: sources('src', 'test', 'bench'),
    outbase: ROOT,
    outdir,
    format: 'esm',
    sourcemap: 'inline',
  });
  await buildNativeUws(join(outdir, 'node_modules/uWebSockets.js'));
  // The fixtures are CommonJS, as the shipped actors are. Node 20 aborts if a thread is ended while `require`
  // loads an ES module (docs/development/what-we-learnt.md, "Node and V8").
  const fixtures = join(outdir, 'test/crash/fixtures');
  const named = sources('test/crash/fixtures').map((file) => [basename(file, '.ts'), file]);
  const { metafiles } = await bundleWithLateParts(fixtures, Object.fromEntries(named));
  checkEmittedImports(fixtures, metafiles);
  writeFileSync(join(fixtures, 'package.json'), '{ "type": "commonjs" }\n');
}

/**
 * Modules that are not bundled find this substitute before the package itself, whose own entry has no binary
 * for an older C library.
 */
async function buildNativeUws(outdir) {
  await build({
    entryPoints: { index: NATIVE_UWS },
    outdir,
    platform: 'node',
    target: SHARED.target,
    define: NATIVE_UWS_TABLE,
  });
  writeFileSync(join(outdir, 'package.json'), '{ "type": "commonjs" }\n');
  for (const { file, place } of ownNatives()) {
    mkdirSync(dirname(join(outdir, place)), { recursive: true });
    symlinkSync(file, join(outdir, place));
  }
}

function ownNatives() {
  const files = nativeFiles(ROOT, process.arch);
  if (files.length === 0) throw new Error(`tonearm is not built for ${process.arch}`);
  return files;
}

/**
 * Builds the program that runs where Node is too old to read the bundles. Its syntax is that of ES2015,
 * because such a Node must be able to read it.
 */
async function buildForOldNodes(outdir) {
  await build({
    entryPoints: [join(ROOT, 'src/cli/old-node.ts')],
    outdir,
    bundle: true,
    format: 'cjs',
    target: 'es2015',
    minifyWhitespace: true,
    define: { ...SHARED.define, SUPPORTED_NODES: JSON.stringify(SUPPORTED_NODES.join(', ')) },
  });
}

/**
 * The first lines of main.js. Only Nodes from 18 on can read the bundles. `tonearm ctl` is a program of its
 * own, because each call would take a seventh more CPU time for what only the daemon needs (bench/FIGURES.md,
 * "The start").
 *
 * A signal may come before main.ts handles it, because loading takes seconds on a slow board. SIGTERM and
 * SIGINT then end the daemon with status 0, as soon as the bundle is loaded. SIGHUP reloads the configuration
 * as soon as main.ts can, because it may have been read before the signal. On a terminal SIGHUP ends the
 * daemon, because the terminal was closed. Commands do not handle signals here.
 */
const GATES = `if (parseInt(process.versions.node, 10) < 18) return require('./old-node.js');
if (process.argv[2] === 'ctl') return require('./cli/ctl/program.js');
if (!process.argv.some((word) => /^(progress|bench|trace|--check-config|--help|--version)$/.test(word))) {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(0);
    });
  }
  const hangUp = () => {
    if (process.listenerCount('SIGHUP') === 1) setTimeout(() => process.emit('SIGHUP', 'SIGHUP'), 100).unref();
  };
  if (![0, 1, 2].some(require('node:tty').isatty)) process.on('SIGHUP', hangUp);
}
`;

/**
 * Moves each bundle, as one function, into `NAME.bundle.js`, and puts cached-bundle.cjs in its place.
 * Bundles that only commands load stay as they are, because commands end before their code would be kept.
 */
function cacheCode(outdir, names) {
  const template = readFileSync(join(ROOT, 'packaging/cached-bundle.cjs'), 'utf8');
  for (const name of names.filter((each) => !each.startsWith('cli/'))) {
    const file = join(outdir, `${name}.js`);
    const text = readFileSync(file, 'utf8');
    // The second alternative makes it '' for a bundle that does not begin with `#!`.
    const [shebang] = /^#!.*\n|^/.exec(text);
    const code = text.slice(shebang.length);
    const bundled = `(function(exports,require,module,__filename,__dirname){${code}\n})`;
    const digest = createHash('sha256').update(bundled).digest('hex');
    const define = { BUNDLE_DIGEST: JSON.stringify(digest), BUNDLE_NAME: JSON.stringify(name) };
    writeFileSync(file.replace(/\.js$/, '.bundle.js'), bundled);
    const gates = name === 'main' ? GATES : '';
    writeFileSync(
      file,
      `${shebang}${gates}${transformSync(template, { define, minifyWhitespace: true }).code}`,
    );
  }
}

async function buildDist(outdir) {
  const actors = sources('src/actors').filter((file) => /\/(backend|bridge)\.ts$/.test(file));
  const entries = [
    ...actors,
    join(ROOT, 'src/cli/bench/probe.ts'),
    join(ROOT, 'src/cli/ctl/program.ts'),
    join(ROOT, 'src/main.ts'),
  ];
  const named = Object.fromEntries(entries.map((file) => [bundleName(file), file]));
  const { names, metafiles } = await bundleWithLateParts(outdir, named);
  // Piscina starts each thread on a file of its package, worker.js. It expects this file beside the bundle
  // that contains piscina.
  const worker = { worker: join(dirname(require.resolve('piscina')), 'worker.js') };
  metafiles.push(...(await bundleWithLateParts(outdir, worker)).metafiles);
  checkEmittedImports(outdir, metafiles);
  cacheCode(outdir, names);
  await buildForOldNodes(outdir);
  const natives = NATIVES.map(({ name }) => join(ROOT, 'node_modules', name));
  const inputs = [...natives, ...metafiles.flatMap(({ inputs: sourcePaths }) => Object.keys(sourcePaths))];
  inputs.push(...(await buildPage(join(ROOT, 'src/page'), join(outdir, 'page'))));
  writeFileSync(
    join(outdir, 'third-party-notices.txt'),
    thirdPartyNotices(inputs.map((path) => resolve(path))),
  );
  for (const { file, place } of ownNatives()) cpSync(file, join(outdir, place));
  // package.json's `bin` names main.js, so it must be executable; the `#!` line comes from the source.
  chmodSync(join(outdir, 'main.js'), 0o755);
}

/** Builds the client as one module for browsers and Node, and one for `require`, with maps and types. */
async function buildClient(outdir) {
  for (const [format, name] of [
    ['esm', 'client.js'],
    ['cjs', 'client.cjs'],
  ])
    await build({
      entryPoints: [join(ROOT, 'src/client/client.ts')],
      outfile: join(outdir, name),
      bundle: true,
      format,
      target: [...TARGETS, 'node20'],
      minify: true,
      sourcemap: true,
      logLevel: 'warning',
      plugins: [computedModules],
    });
  checkScript('The client', readFileSync(join(outdir, 'client.js'), 'utf8'));
  await writeDeclarations(ROOT, outdir);
  cpSync(join(ROOT, 'LICENSE'), join(outdir, 'LICENSE'));
  cpSync(join(ROOT, 'packaging/client-readme.md'), join(outdir, 'README.md'));
}

const { values } = parseArgs({
  options: {
    'tests-only': { type: 'boolean' },
    'dist-only': { type: 'boolean' },
    'tests-dir': { type: 'string', default: 'build' },
    'dist-dir': { type: 'string', default: 'dist' },
    'client-dir': { type: 'string' },
  },
});
if (!values['dist-only'])
  await replaceFolder(resolve(ROOT, values['tests-dir']), { type: 'module' }, buildModules);
if (values['client-dir'] !== undefined || (!values['dist-only'] && !values['tests-only']))
  await replaceFolder(resolve(ROOT, values['client-dir'] ?? 'dist-client'), CLIENT_PACKAGE, buildClient);
if (!values['tests-only'])
  await replaceFolder(resolve(ROOT, values['dist-dir']), { type: 'commonjs' }, buildDist);
