// Makes the bundles of the daemon with esbuild. Modules that packages load but the daemon does not use are
// replaced, and what the sources load late becomes a bundle of its own.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { computedModules } from './computed-modules.mjs';
import { NATIVES, NODE_OF_MODULES } from './natives.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
/**
 * The ES modules of yaml become one scope. They load in two thirds of the CPU time that the package's files
 * for Node take (bench/FIGURES.md, "The start").
 */
const YAML = join(dirname(require.resolve('yaml/package.json')), 'browser/dist/index.js');
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Options of bundles, and of the modules for tests. */
export const SHARED = {
  platform: 'node',
  target: 'node20',
  logLevel: 'warning',
  define: { TONEARM_VERSION: JSON.stringify(version) },
};

/** The module that chooses among the binaries of uWebSockets.js, which lie beside the bundle. */
export const NATIVE_UWS = join(ROOT, 'packaging/native-uws.cjs');
export const NATIVE_UWS_TABLE = {
  NATIVES: JSON.stringify(NATIVES.map(({ place, glibc }) => ({ place, glibc }))),
  NODE_OF_MODULES: JSON.stringify(NODE_OF_MODULES),
};
const nativeUws = {
  name: 'native-uws',
  setup(pluginBuild) {
    pluginBuild.onResolve({ filter: /^uWebSockets\.js$/ }, () => ({ path: NATIVE_UWS }));
  },
};

/**
 * The name of a source's bundle: the source's path below `src/` without its ending, which is also the
 * bundle's path below the output folder.
 */
export const bundleName = (file) => relative(join(ROOT, 'src'), file).replace(/\.[jt]s$/, '');

/**
 * What is loaded late becomes a file of its own, because a bundle is compiled whole when it is loaded.
 * Without the schemas and the YAML reader, main.js has little more than a third of its size, which saves a
 * third of the time until it listens (bench/FIGURES.md, "The start"). The path to a part starts in `folder`,
 * which is the folder of the bundle that loads the part. The names of the parts are added to `found`.
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

/**
 * The part of node:assert that piscina, dbus-next and mqtt call. To load the whole costs a thread 4 ms of CPU
 * (docs/development/what-we-learnt.md, "Node and V8").
 */
const ASSERT = `const assert = (is, text) => { if (!is) throw new Error(text ?? 'assertion failed'); };
module.exports = Object.assign(assert, {
  ok: assert,
  strictEqual: (one, other, text) => assert(Object.is(one, other), text),
  notStrictEqual: (one, other, text) => assert(!Object.is(one, other), text),
});`;

/**
 * Modules that packages load, each with its replacement. dbus-next loads introspection's XML (the
 * constructor of a bus makes a Builder), big integers for Node before 10.8, cryptography for cookies, and
 * addresses of the kinds unixexec and X11. The daemon uses none of these, and they would be more than half
 * of each bundle, in each of three threads. mqtt loads web sockets, proxies, timers of browsers, traces, and
 * a copy of Node's own streams, which would be three quarters of its bundle. pino loads its own writers of
 * lines, sonic-boom and thread-stream, although the daemon gives it another writer.
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
 * The beginning of each bundle. Node's global Buffer and performance are getters, which the JIT compiler
 * cannot optimize. As local names they make a change of volume cost a hundredth less (by profile).
 */
const BANNER = [
  'const importMetaUrl = require("node:url").pathToFileURL(__filename).href;',
  'const { Buffer } = require("node:buffer"), { performance } = require("node:perf_hooks");',
].join('');

/**
 * Bundles entries that lie in one folder. Resolves with esbuild's metafile. The names of what the entries
 * load late are added to `late`.
 */
async function bundle(outdir, folder, entries, late) {
  const { metafile } = await build({
    ...SHARED,
    metafile: true,
    entryPoints: entries,
    outdir,
    bundle: true,
    // CommonJS takes 4 threads and 2 MB less than ES modules (docs/development/what-we-learnt.md, "Node and
    // V8").
    format: 'cjs',
    supported: { 'dynamic-import': false },
    minifyWhitespace: true,
    minifySyntax: true,
    define: { ...SHARED.define, ...NATIVE_UWS_TABLE, 'import.meta.url': 'importMetaUrl' },
    banner: { js: BANNER },
    external: ['@napi-rs/nice', '*.node'],
    alias: { yaml: YAML },
    plugins: [nativeUws, lateParts(folder, late), computedModules, replaced],
  });
  return metafile;
}

/**
 * Bundles these sources by name, and all that is loaded late by them or by another late part. Resolves with
 * names and metafiles of all bundles.
 */
export async function bundleWithLateParts(outdir, sourceOf) {
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
