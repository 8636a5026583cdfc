// Builds the project: `build/` holds one module per source file, for the tests; `dist/` holds the bundles that are shipped, the
// files of the page and the rights of all that is in them; `dist-client/` is the npm package `tonearm-client`.
// One bundle for the main thread and one per actor: separate isolates share no code, and unbundled packages cost 30 MB
// and 190 ms at start. Nothing here installs anything.
//
//   node packaging/build.mjs [--tests-only | --dist-only] [--tests-dir DIR] [--dist-dir DIR] [--client-dir DIR]
//
// With --client-dir the client is built whatever else is.

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
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, transformSync } from 'esbuild';
import { clientPaths } from './client-paths.mjs';
import { writeDeclarations } from './client-types.mjs';
import { nativeFiles, ownArchitecture } from './deb/architectures.mjs';
import { checkEmittedImports } from './emitted-imports.mjs';
import { thirdPartyNotices } from './notices.mjs';
import { buildPage } from './page.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
/** ES modules, which become one scope: they load in two thirds of the CPU time that the package's files for Node take (measured). */
const YAML = join(dirname(require.resolve('yaml/package.json')), 'browser/dist/index.js');
const NATIVE = join(ROOT, 'node_modules/uWebSockets.js/dist/bin');
const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const SHARED = {
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
  define: { TONEARM_VERSION: JSON.stringify(version) },
};

const CLIENT_PACKAGE = {
  name: 'tonearm-client',
  version,
  description:
    'The typed client of tonearm, for browsers and Node: every route, and the state of a node kept live',
  license,
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20' },
  exports: { '.': { types: './client.d.ts', default: './client.js' } },
};

/** Every TypeScript file below the given folders of the project. */
function sources(...folders) {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
  );
}

/**
 * Builds beside the folder and swaps it in whole: no output of deleted sources stays, a failed build leaves the last good
 * one, and whoever reads the folder meanwhile never sees it half written. Its package.json, `manifest`, lists the modules that it
 * holds and carries the time at which reading the sources began.
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

/** One module per source file, same tree: tests import what they test, and stack traces name it. */
async function buildModules(outdir) {
  await build({
    ...SHARED,
    entryPoints: sources('src', 'test', 'bench'),
    outbase: ROOT,
    outdir,
    format: 'esm',
    sourcemap: 'inline',
  });
  // As the shipped actors are: where `require` also loads ES modules, Node 20 aborts when a thread is ended as it loads one (measured).
  const fixtures = join(outdir, 'test/crash/fixtures');
  const named = sources('test/crash/fixtures').map((file) => [basename(file, '.ts'), file]);
  const { metafiles } = await bundleWithLateParts(fixtures, Object.fromEntries(named));
  checkEmittedImports(fixtures, metafiles);
  writeFileSync(join(fixtures, 'package.json'), '{ "type": "commonjs" }\n');
}

/** The native half of uWebSockets.js lies beside the bundle, chosen by architecture and Node's module version. */
const nativeUws = {
  name: 'native-uws',
  setup(pluginBuild) {
    const path = join(ROOT, 'packaging/native-uws.cjs');
    pluginBuild.onResolve({ filter: /^uWebSockets\.js$/ }, () => ({ path }));
  },
};

/** The name of a source's bundle: its path below `src/` without ending, where the bundle lies below the output folder, too. */
const bundleName = (file) => relative(join(ROOT, 'src'), file).replace(/\.[jt]s$/, '');

/**
 * What is loaded late becomes a file of its own: a bundle is compiled whole when it is loaded, and main.js is 250 kB without the schemas
 * and the YAML reader instead of 740 kB, which is a third of its time to listen (measured). A bundle that lies in `folder` loads it by a
 * path from there. `found` gets the names.
 */
function lateParts(folder, found) {
  const src = join(ROOT, 'src');
  return {
    name: 'late-parts',
    setup(pluginBuild) {
      pluginBuild.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
        if (kind !== 'dynamic-import' || !resolveDir.startsWith(src)) return undefined;
        const name = bundleName(join(resolveDir, path));
        found.add(name);
        const from = relative(folder, `${name}.js`);
        return { path: from.startsWith('.') ? from : `./${from}`, external: true };
      });
    },
  };
}

/** The part of node:assert that piscina, dbus-next and mqtt call. To load the whole costs a thread 4 ms of CPU (measured). */
const ASSERT = `const assert = (is, text) => { if (!is) throw new Error(text ?? 'assertion failed'); };
module.exports = Object.assign(assert, {
  ok: assert,
  strictEqual: (one, other, text) => assert(Object.is(one, other), text),
  notStrictEqual: (one, other, text) => assert(!Object.is(one, other), text),
});`;

/**
 * Modules that packages load, each with its replacement. dbus-next loads introspection's XML (the constructor of a bus makes a Builder),
 * big integers for Node before 10.8, cryptography for cookies and addresses of the kinds unixexec and X11, none of which is used; more
 * than half of each bundle, in each of three threads. mqtt loads web sockets, proxies, timers of browsers, traces, and a copy of Node's
 * own streams; three quarters of its bundle. pino loads its own files and threads for lines, where the daemon gives it what writes them.
 */
const REPLACED = {
  assert: ASSERT,
  'node:assert': ASSERT,
  crypto: '',
  xml2js: 'exports.Builder = class {}; exports.Parser = class {};',
  jsbi: '',
  'event-stream': "throw new Error('addresses of the kind unixexec are not part of this build');",
  x11: "throw new Error('X11 is not part of this build');",
  usocket: "throw new Error('usocket is not part of this build');",
  ws: '',
  socks: '',
  'worker-timers': '',
  debug: 'module.exports = () => () => undefined;',
  'sonic-boom': 'module.exports = class {};',
  'thread-stream': '',
  'readable-stream': "module.exports = require('node:stream');",
};

const replaced = {
  name: 'replaced',
  setup(pluginBuild) {
    const only = { filter: new RegExp(`^(?:${Object.keys(REPLACED).join('|')})$`) };
    pluginBuild.onResolve(only, ({ path }) => ({ path, namespace: 'replaced' }));
    pluginBuild.onLoad({ filter: /.*/, namespace: 'replaced' }, ({ path }) => ({
      contents: REPLACED[path],
      loader: 'js',
    }));
  },
};

/**
 * The beginning of each bundle. As globals, Node's Buffer and performance are getters, which the JIT compiler cannot optimize: as local
 * names they make a change of volume cost a hundredth less (by profile).
 */
const BANNER = [
  'const importMetaUrl = require("node:url").pathToFileURL(__filename).href;',
  'const { Buffer } = require("node:buffer"), { performance } = require("node:perf_hooks");',
].join('');

/** Bundles entries that lie in one folder. Resolves with esbuild's metafile; `late` gets the names of what they load late. */
async function bundle(outdir, folder, entries, late) {
  const { metafile } = await build({
    ...SHARED,
    metafile: true,
    entryPoints: entries,
    outdir,
    bundle: true,
    // CommonJS: 4 threads and 2 MB less than ES modules (measured, Node 20).
    format: 'cjs',
    supported: { 'dynamic-import': false },
    minifyWhitespace: true,
    minifySyntax: true,
    define: { ...SHARED.define, 'import.meta.url': 'importMetaUrl' },
    banner: { js: BANNER },
    external: ['@napi-rs/nice', '*.node'],
    alias: { yaml: YAML },
    plugins: [nativeUws, lateParts(folder, late), replaced],
  });
  return metafile;
}

/** Bundles these sources by name, and all that they load late, at once or in turn. Resolves with names and metafiles of all bundles. */
async function bundleWithLateParts(outdir, sourceOf) {
  const metafiles = [];
  const names = new Set(Object.keys(sourceOf));
  let pending = [...names];
  while (pending.length > 0) {
    const found = new Set();
    const folders = new Set(pending.map(dirname));
    for (const folder of folders) {
      const here = pending.filter((name) => dirname(name) === folder);
      const entries = here.map((name) => [name, sourceOf[name] ?? join(ROOT, 'src', `${name}.ts`)]);
      metafiles.push(await bundle(outdir, folder, Object.fromEntries(entries), found));
    }
    pending = [...found].filter((name) => !names.has(name));
    for (const name of pending) names.add(name);
  }
  return { names: [...names], metafiles };
}

/**
 * Puts cached-bundle.cjs in the place of each bundle, as one function in `NAME.bundle.js`. What only commands load stays as it is: they end
 * before there is anything to keep.
 */
function cacheCode(outdir, names) {
  const template = readFileSync(join(ROOT, 'packaging/cached-bundle.cjs'), 'utf8');
  for (const name of names.filter((each) => !each.startsWith('cli/'))) {
    const file = join(outdir, `${name}.js`);
    const text = readFileSync(file, 'utf8');
    const [shebang] = /^#!.*\n|^/.exec(text);
    const code = text.slice(shebang.length);
    const bundled = `(function(exports,require,module,__filename,__dirname){${code}\n})`;
    const digest = createHash('sha256').update(bundled).digest('hex');
    const define = { BUNDLE_DIGEST: JSON.stringify(digest), BUNDLE_NAME: JSON.stringify(name) };
    writeFileSync(file.replace(/\.js$/, '.bundle.js'), bundled);
    writeFileSync(file, `${shebang}${transformSync(template, { define, minifyWhitespace: true }).code}`);
  }
}

async function buildDist(outdir) {
  const actors = sources('src/actors').filter((file) => /\/(backend|bridge)\.ts$/.test(file));
  const entries = [...actors, join(ROOT, 'src/cli/bench/probe.ts'), join(ROOT, 'src/main.ts')];
  const named = Object.fromEntries(entries.map((file) => [bundleName(file), file]));
  const { names, metafiles } = await bundleWithLateParts(outdir, named);
  // Piscina starts each thread on a file of its own, which it expects beside itself.
  const worker = { worker: join(dirname(require.resolve('piscina')), 'worker.js') };
  metafiles.push(...(await bundleWithLateParts(outdir, worker)).metafiles);
  checkEmittedImports(outdir, metafiles);
  cacheCode(outdir, names);
  const inputs = [NATIVE, ...metafiles.flatMap(({ inputs: sourcePaths }) => Object.keys(sourcePaths))];
  inputs.push(...(await buildPage(join(ROOT, 'src/page'), join(outdir, 'page'))));
  writeFileSync(
    join(outdir, 'third-party-notices.txt'),
    thirdPartyNotices(inputs.map((path) => resolve(path))),
  );
  const architecture = ownArchitecture();
  if (architecture === undefined) throw new Error(`tonearm is not built for ${process.arch}`);
  for (const file of nativeFiles(architecture)) cpSync(join(NATIVE, file), join(outdir, file));
  // package.json's `bin` names main.js, so it must be executable; the `#!` line comes from the source.
  chmodSync(join(outdir, 'main.js'), 0o755);
}

/** One module for browsers and Node, and its types. */
async function buildClient(outdir) {
  await build({
    entryPoints: [join(ROOT, 'src/client/client.ts')],
    outdir,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    logLevel: 'warning',
    plugins: [clientPaths],
  });
  await writeDeclarations(ROOT, outdir);
  cpSync(join(ROOT, 'LICENSE'), join(outdir, 'LICENSE'));
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
