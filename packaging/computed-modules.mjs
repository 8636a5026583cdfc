// Replaces modules that only compute a table by that table, as literals. They compute it from the operations
// and the schemas, which are larger than the bundle that needs the table.

import { build } from 'esbuild';

/** The modules with what the client knows of each route, and `tonearm ctl` of each operation. */
const COMPUTED = /\/src\/(?:client\/paths|cli\/ctl\/commands)\.ts$/;

export const isComputed = (path) => COMPUTED.test(path);

export async function computedSource(path) {
  const options = { entryPoints: [path], bundle: true, write: false, format: 'esm', logLevel: 'warning' };
  const { outputFiles } = await build(options);
  const url = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`;
  const found = Object.entries(await import(url));
  return found.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`).join('\n');
}

/** The plugin for esbuild. */
export const computedModules = {
  name: 'computed-modules',
  setup(pluginBuild) {
    pluginBuild.onLoad({ filter: COMPUTED }, async ({ path }) => ({ contents: await computedSource(path) }));
  },
};
