// Makes the files of the page from src/page: a script, its parts that are loaded late, such as languages, a
// style, a manifest and icons. Each of them is named by a hash of its content, and the document has these
// names. Compressed forms lie beside the files, so that the daemon compresses nothing.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { checkScript, checkStyle } from './browser-check.mjs';
import { BROWSERS_TEXT, TARGETS } from './browsers.mjs';
import { bundledScript } from './page-script.mjs';

/** These files are compressed already, or made anew for each node (src/gateway/node-icon.ts). */
const AS_IT_IS = /\.(?:png|svg|webmanifest)$/;
const HASH_CHARS = 10;

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

/** The style with all that it imports. */
export async function bundledStyle(entry) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    minify: true,
    target: TARGETS,
    logLevel: 'warning',
  });
  return Buffer.from(outputFiles[0].contents);
}

/**
 * @param {string} source the folder src/page
 * @param {string} into a folder, which is made
 * @returns {Promise<string[]>} the paths of all modules in the page's scripts
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
  /**
   * Replaces each `@NAME@` in a text by the address of that file, which begins with `folder`.
   */
  const filled = (content, folder) =>
    content.replace(/@([\w.-]+)@/g, (_all, name) => `${folder}${names.get(name)}`);
  const add = (name, bytes) => {
    names.set(name, hashed(name, bytes));
    put(names.get(name), bytes);
  };
  add('icon-192.png', readFileSync(join(source, 'icon-192.png')));
  add('icon.svg', Buffer.from(text('icon.svg')));
  // The blanks of the manifest are for people who read its source.
  const manifest = JSON.parse(filled(text('app.webmanifest'), ''));
  add('app.webmanifest', Buffer.from(JSON.stringify(manifest)));
  const style = await bundledStyle(join(source, 'page.css'));
  checkStyle('The style of the page', String(style));
  add('app.css', style);
  const { files, inputs } = await bundledScript(join(source, 'main.tsx'));
  names.set('app.js', files[0].name);
  for (const { name, bytes } of files) {
    checkScript(`The page's file ${name}`, String(bytes));
    put(name, bytes);
  }
  const document = filled(text('index.html'), 'ui/').replace('{browsers}', BROWSERS_TEXT);
  put('index.html', Buffer.from(document));
  return inputs;
}
