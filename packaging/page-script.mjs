// Bundles the script of the page with Rollup. What is imported late becomes a file of its own, and
// everything that the script has anyway stays in the script. esbuild would cut what these files share into
// many small ones, which compress badly.

import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { rollup } from 'rollup';
import { TARGETS } from './browsers.mjs';
import { computedSource, isComputed } from './computed-modules.mjs';

const fileOf = (name) => fileURLToPath(import.meta.resolve(name));

/** `./parts.js` is parts.ts or parts.tsx; a package is the file that Node finds. */
function resolveId(id, importer) {
  if (importer === undefined) return id;
  if (!id.startsWith('.')) return fileOf(id);
  const path = resolve(dirname(importer), id);
  return [path, path.replace(/\.js$/, '.ts'), path.replace(/\.js$/, '.tsx')].find((each) => existsSync(each));
}

const typescript = {
  name: 'typescript',
  resolveId,
  load: (path) => (isComputed(path) ? computedSource(path) : null),
  async transform(source, path) {
    if (!/\.tsx?$/.test(path)) return null;
    const loader = path.endsWith('x') ? 'tsx' : 'ts';
    const { code } = await transform(source, {
      loader,
      jsx: 'automatic',
      jsxImportSource: 'preact',
      target: TARGETS,
    });
    return { code, map: null };
  },
  async renderChunk(source) {
    // third-party-notices.txt has the licence texts of what is bundled.
    const options = { minify: true, format: 'esm', target: TARGETS, legalComments: 'none' };
    return { code: (await transform(source, options)).code, map: null };
  },
};

/** Anything that Rollup remarks is a mistake in the sources. */
function onwarn({ message }) {
  throw new Error(message);
}

/**
 * @param {string} entry a TypeScript file
 * @returns `files`: the script first, and then its parts, each with the hash of its content in its name; and
 * `inputs`: the paths of all modules in them
 */
export async function bundledScript(entry) {
  const bundle = await rollup({ input: entry, plugins: [typescript], onwarn });
  const { output } = await bundle.generate({
    entryFileNames: 'app-[hash:10].js',
    chunkFileNames: '[name]-[hash:10].js',
    hoistTransitiveImports: false,
  });
  await bundle.close();
  return {
    files: output.map(({ fileName, code }) => ({ name: fileName, bytes: Buffer.from(code) })),
    inputs: output.flatMap(({ moduleIds }) => moduleIds),
  };
}
