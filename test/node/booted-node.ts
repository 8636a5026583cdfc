// A node for one file of tests: booted before them, where they want it with packages, and removed after them.

import assert from 'node:assert/strict';
import { buildPackage, buildStandIn, type Folder, tempFolder } from '../packaging/built-package.js';
import { bootNode, type Node, type NodeOptions } from './node.js';

/** Where the packages lie on the node. */
const PACKAGES = '/opt/packages';

export class BootedNode {
  readonly #options: NodeOptions;
  #booted: Node | undefined;
  #folder: Folder | undefined;

  constructor(options: NodeOptions = {}) {
    this.#options = options;
  }

  readonly node = (): Node => this.#booted ?? assert.fail('the node has not booted');

  /** `packages`: the builder's arguments for each package that is to lie on it, beside the one that stands in for Node's. */
  async boot(...packages: readonly (readonly string[])[]): Promise<void> {
    const booting = bootNode(this.#options).then((node) => {
      this.#booted = node;
    });
    await Promise.all([booting, this.#build(packages)]);
    if (this.#folder !== undefined) await this.node().install(this.#folder.path, PACKAGES);
  }

  async #build(packages: readonly (readonly string[])[]): Promise<void> {
    if (packages.length === 0) return;
    this.#folder = tempFolder();
    for (const args of packages) await buildPackage('--out', this.#folder.path, ...args);
    await buildStandIn(this.#folder.path);
  }

  async close(): Promise<void> {
    await this.#booted?.close();
    this.#folder?.remove();
  }
}
