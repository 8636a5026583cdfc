// The icons and the manifest of the page differ between nodes: each node has its colour and its name.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import { fileForNode } from '../../src/gateway/node-icon.js';
import { readPageFiles } from '../../src/gateway/page.js';

const FILES = readPageFiles(fileURLToPath(new URL('../../../dist/page', import.meta.url)));

/** The file of the page with this ending, for a node of this name. */
function fileFor(node: string, ending: string): Buffer {
  const [name, file] = [...FILES].find(([path]) => path.endsWith(ending)) ?? [];
  assert.ok(name !== undefined && file !== undefined, ending);
  const fileOfNode = fileForNode(name, file.identity, node);
  assert.ok(fileOfNode !== undefined, ending);
  return fileOfNode;
}

const PNG_SIGNATURE_BYTES = 8;

interface Manifest {
  readonly name: string;
  readonly short_name: string;
}

const manifestFor = (node: string): Manifest => JSON.parse(fileFor(node, '.webmanifest').toString());

/**
 * JSON must escape some of these characters, and `String.replace` takes `$&` for the text that it replaces.
 */
const AWKWARD_NAME = 'a "quoted" \\ name $&';

describe('the files of the page that are made for a node', () => {
  test('the manifest has the name of the node', () => {
    for (const name of ['kitchen', AWKWARD_NAME])
      assert.deepEqual([manifestFor(name).name, manifestFor(name).short_name], [name, name]);
  });

  test('icons of different names have different colours, and icons of one name are equal', () => {
    for (const ending of ['.svg', '.png']) {
      const icons = ['kitchen', 'living-room', 'attic'].map((name) => fileFor(name, ending).toString('hex'));
      assert.equal(new Set(icons).size, icons.length, ending);
      assert.equal(fileFor('kitchen', ending).toString('hex'), icons[0]);
    }
  });

  test('the PNG in the colours of the node is complete: each chunk ends where the next begins', () => {
    const png = fileFor('kitchen', '.png');
    const kinds: string[] = [];
    // A chunk is the length of its data, its kind, the data and a checksum: 4 bytes each, except the data.
    let rest = png.subarray(PNG_SIGNATURE_BYTES);
    while (rest.length > 0) {
      const length = rest.readUInt32BE(0);
      const kind = rest.toString('latin1', 4, 8);
      kinds.push(kind);
      if (kind === 'IDAT') assert.ok(inflateSync(rest.subarray(8, 8 + length)).length > 0);
      rest = rest.subarray(12 + length);
    }
    assert.deepEqual([kinds.at(0), kinds.at(-1)], ['IHDR', 'IEND']);
    assert.ok(kinds.includes('PLTE'));
  });

  test('the script is the same on every node, so none is made for a node', () => {
    assert.equal(fileForNode('app-1.js', Buffer.from(''), 'kitchen'), undefined);
  });
});
