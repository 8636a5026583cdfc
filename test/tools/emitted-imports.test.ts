// Tests the build's check of imports (packaging/emitted-imports.mjs). Also tests that each bundle in dist/
// finds all that it loads at run time.

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';
import { temporaryFolder } from '../temporary-folder.js';

// build/test/tools/emitted-imports.test.js -> the project's root
const ROOT = new URL('../../../', import.meta.url);
const DIST = fileURLToPath(new URL('dist/', ROOT));

interface Check {
  readonly checkEmittedImports: (outdir: string, metafiles: readonly Metafile[]) => void;
}

test('the build fails if an emitted file has an import that leads nowhere', async (t) => {
  const { checkEmittedImports }: Check = await import(new URL('packaging/emitted-imports.mjs', ROOT).href);
  const folder = temporaryFolder(t);
  const outdir = join(folder, 'out');
  const options = { outdir, outbase: folder, bundle: true, metafile: true, platform: 'node' } as const;
  const emit = async (name: string, text: string, ...external: readonly string[]): Promise<Metafile> => {
    const file = join(folder, `${name}.ts`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    const entryPoints = { [name]: file };
    return (await build({ ...options, entryPoints, external: [...external] })).metafile;
  };

  const late = await emit('late', 'console.log(1);');
  const besideLate = await emit('main', "require('./late.js'); import('node:fs');", './late.js');
  checkEmittedImports(outdir, [late, besideLate]);

  // The file part/actor.js loads ./late.js twice, but the error names that path once.
  const belowLate = await emit('part/actor', "import('./late.js'); require('./late.js');", './late.js');
  assert.throws(() => checkEmittedImports(outdir, [late, belowLate]), {
    message: 'the build is broken:\npart/actor.js loads ./late.js, which is not there',
  });

  const loadsPackage = await emit('foreign', "require('left-out');", 'left-out');
  assert.throws(() => checkEmittedImports(outdir, [loadsPackage]), /foreign\.js loads left-out,/);
});

/** Piscina tries to load this package, and works without it. */
const OPTIONAL = '@napi-rs/nice';

test('every path that a shipped bundle loads exists, and bundles load only one package, which is optional', () => {
  const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' });
  const bundles = files.filter((file) => file.endsWith('.js') && !file.startsWith('page/'));
  const loaded = bundles.flatMap((file) =>
    [...readFileSync(join(DIST, file), 'utf8').matchAll(/\brequire\("([^"]+)"\)/g)].map(
      ([, path = '']) => [file, path] as const,
    ),
  );
  const ownPaths = loaded.filter(([, path]) => path.startsWith('.'));
  // src/actors/players/backend.ts loads web-cover.ts late, so the pattern must find at least that path.
  assert.ok(
    ownPaths.some(([file]) => dirname(file) === 'actors/players'),
    String(ownPaths),
  );
  // `resolve` throws if there is no file at the path.
  for (const [file, path] of ownPaths) createRequire(join(DIST, file)).resolve(path);
  const packages = loaded.filter(([, path]) => !path.startsWith('.') && !isBuiltin(path));
  assert.deepEqual([...new Set(packages.map(([, path]) => path))], [OPTIONAL]);
});
