// Replaces src/client/paths.ts by its result, as literals: the table of operations, from which it is computed, is larger than the client.

import { build } from 'esbuild';

const CLIENT_PATHS = /\/src\/client\/paths\.ts$/;

export const isClientPaths = (path) => CLIENT_PATHS.test(path);

export async function clientPathsSource(path) {
  const options = { entryPoints: [path], bundle: true, write: false, format: 'esm', logLevel: 'warning' };
  const { outputFiles } = await build(options);
  const url = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`;
  const found = Object.entries(await import(url));
  return found.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`).join('\n');
}

/** A plugin of esbuild's, for bundles that hold the client. */
export const clientPaths = {
  name: 'client-paths',
  setup(pluginBuild) {
    pluginBuild.onLoad({ filter: CLIENT_PATHS }, async ({ path }) => ({
      contents: await clientPathsSource(path),
    }));
  },
};
