// Replaces modules that only compute a table. A bundle gets the finished table instead, as literals. The
// operations and schemas from which it is computed are larger than the bundle that needs it.

import { build } from 'esbuild';

/** The first module has the routes of the client, the second the commands of `tonearm ctl`. */
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
