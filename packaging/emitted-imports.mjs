// Checks what emitted files load: every import and require that esbuild has left in a file must lead from
// there to a file, to a module of Node, or to an optional package. It reads esbuild's metafiles and the
// folder, and changes nothing.

import { existsSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, relative, resolve } from 'node:path';

/** Packages that bundled code tries to load, and does without where they are missing. */
const OPTIONAL = ['@napi-rs/nice'];

function resolves(file, path) {
  if (/^\.{1,2}\//.test(path)) return existsSync(resolve(dirname(file), path));
  return isBuiltin(path) || OPTIONAL.includes(path);
}

/**
 * Throws an error that names every import that leads nowhere. `metafiles` are those of all builds into
 * `outdir`.
 */
export function checkEmittedImports(outdir, metafiles) {
  const outputs = metafiles.flatMap((metafile) => Object.entries(metafile.outputs));
  const broken = outputs.flatMap(([output, { imports }]) => {
    const file = resolve(output);
    const paths = imports.map(({ path }) => path).filter((path) => !resolves(file, path));
    return [...new Set(paths)].map((path) => `${relative(outdir, file)} loads ${path}, which is not there`);
  });
  if (broken.length > 0) throw new Error(`the build is broken:\n${broken.join('\n')}`);
}
