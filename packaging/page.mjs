// The files of the page, made of src/page: one script, one style, a file for each language, a manifest and icons, each named by a hash
// of its content, and the document that names them; each beside its compressed forms, so that the daemon compresses nothing.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { checkScript, checkStyle } from './browser-check.mjs';
import { BROWSERS_TEXT, TARGETS } from './browsers.mjs';
import { clientPaths } from './client-paths.mjs';

/** Compressed already, or made anew for each node (src/gateway/node-icon.ts). */
const AS_IT_IS = /\.(?:png|svg|webmanifest)$/;
const HASH_CHARS = 10;
/** Part of the script. */
const ENGLISH = 'english.ts';

const brotli = (bytes) =>
  brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });

/** `app.js` -> `app-HASH.js`. */
function hashed(name, bytes) {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, HASH_CHARS);
  return name.replace(/(?=\.[a-z]+$)/, `-${hash}`);
}

const LANGUAGE_FILE = /\/texts\/\w+\.js$/;

/** A plugin of esbuild's: a language is loaded from its own file, whose name `fileOf` gives. */
export const languagesApart = (fileOf) => ({
  name: 'languages-apart',
  setup(pluginBuild) {
    pluginBuild.onResolve({ filter: LANGUAGE_FILE }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path: `./${fileOf(basename(path))}`, external: true } : undefined,
    );
  },
});

/**
 * @param {string} entry a TypeScript or CSS file
 * @param {import('esbuild').Plugin[]} plugins besides that for the client's paths
 * @returns the bytes of its bundle, and the paths of what is in it
 */
export async function bundled(entry, plugins = []) {
  const { outputFiles, metafile } = await build({
    metafile: true,
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: TARGETS,
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // The rights of what is bundled are in third-party-notices.
    legalComments: 'none',
    plugins: [clientPaths, ...plugins],
    logLevel: 'warning',
  });
  return { bytes: Buffer.from(outputFiles[0].contents), inputs: Object.keys(metafile.inputs) };
}

/**
 * @param {string} source the folder src/page
 * @param {string} into a folder, which is made
 * @returns {Promise<string[]>} the paths of all that is in its script
 */
export async function buildPage(source, into) {
  mkdirSync(into, { recursive: true });
  const put = (name, bytes) => {
    writeFileSync(join(into, name), bytes);
    if (AS_IT_IS.test(name)) return;
    writeFileSync(join(into, `${name}.gz`), gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }));
    writeFileSync(join(into, `${name}.br`), brotli(bytes));
  };
  const text = (name) => readFileSync(join(source, name), 'utf8');
  const names = new Map();
  /** The text with the places `@NAME@` filled by the addresses of what has been put, from where `folder` leads to it. */
  const filled = (content, folder) =>
    content.replace(/@([\w.-]+)@/g, (_all, name) => `${folder}${names.get(name)}`);
  const add = (name, bytes) => {
    names.set(name, hashed(name, bytes));
    put(names.get(name), bytes);
  };
  add('icon-192.png', readFileSync(join(source, 'icon-192.png')));
  add('icon.svg', Buffer.from(text('icon.svg')));
  add('app.webmanifest', Buffer.from(filled(text('app.webmanifest'), '')));
  const style = await bundled(join(source, 'page.css'));
  checkStyle('The style of the page', String(style.bytes));
  add('app.css', style.bytes);
  for (const name of readdirSync(join(source, 'texts'))) {
    if (name === ENGLISH) continue;
    const { bytes } = await bundled(join(source, 'texts', name));
    add(name.replace(/\.ts$/, '.js'), bytes);
  }
  const script = await bundled(join(source, 'main.tsx'), [languagesApart((name) => names.get(name))]);
  checkScript('The script of the page', String(script.bytes));
  add('app.js', script.bytes);
  const document = filled(text('index.html'), 'ui/').replace('{browsers}', BROWSERS_TEXT);
  put('index.html', Buffer.from(document));
  return script.inputs;
}
