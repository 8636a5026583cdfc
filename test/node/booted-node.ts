// A node for one file of tests: booted before them, where they want it with packages, and removed after them.

import assert from 'node:assert/strict';
import { buildPackage, buildStandIn } from '../packaging/built-package.js';
import { temporaryFolder } from '../temporary-folder.js';
import { bootNode, type Node, type NodeOptions } from './node.js';

/** Where the packages lie on the node. */
const PACKAGES = '/opt/packages';

export class BootedNode {
  readonly #options: NodeOptions;
  #booted: Node | undefined;

  constructor(options: NodeOptions = {}) {
    this.#options = options;
  }

  readonly node = (): Node => this.#booted ?? assert.fail('the node has not booted');

  /** `packages`: the builder's arguments for each package that is to lie on it, beside the one that stands in for Node's. */
  async boot(...packages: readonly (readonly string[])[]): Promise<void> {
    const booting = bootNode(this.#options).then((node) => {
      this.#booted = node;
    });
    const [folder] = await Promise.all([packages.length > 0 && built(packages), booting]);
    if (folder !== false) await this.node().install(folder, PACKAGES);
  }

  async close(): Promise<void> {
    await this.#booted?.close();
  }
}

/** The folder of these packages and the stand-in. */
async function built(packages: readonly (readonly string[])[]): Promise<string> {
  const folder = temporaryFolder();
  for (const args of packages) await buildPackage('--out', folder, ...args);
  await buildStandIn(folder);
  return folder;
}
