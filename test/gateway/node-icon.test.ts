// The icons and the manifest of the page for nodes of different names: another colour each, and the name.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import { fileForNode } from '../../src/gateway/node-icon.js';
import { readPageFiles } from '../../src/gateway/page.js';

const FILES = readPageFiles(fileURLToPath(new URL('../../../dist/page', import.meta.url)));

/** The file of the page with this ending, for a node of this name. */
function fileFor(node: string, ending: string): Buffer {
  const [name, file] = [...FILES].find(([each]) => each.endsWith(ending)) ?? [];
  assert.ok(name !== undefined && file !== undefined, ending);
  const made = fileForNode(name, file.identity, node);
  assert.ok(made !== undefined, ending);
  return made;
}

interface Manifest {
  readonly id: string;
  readonly name: string;
  readonly short_name: string;
}

const manifestFor = (node: string): Manifest => JSON.parse(fileFor(node, '.webmanifest').toString());

describe('the files of the page that are made for a node', () => {
  test('the manifest has its name, and an identity of its own', () => {
    for (const name of ['kitchen', 'a "quoted" \\ name $&'])
      assert.deepEqual([manifestFor(name).name, manifestFor(name).short_name], [name, name]);
    assert.notEqual(manifestFor('kitchen').id, manifestFor('attic').id);
  });

  test('the icons have another colour for another name, and the same for the same', () => {
    for (const ending of ['.svg', '.png']) {
      const rooms = ['kitchen', 'living-room', 'attic'].map((name) => fileFor(name, ending).toString('hex'));
      assert.equal(new Set(rooms).size, rooms.length, ending);
      assert.equal(fileFor('kitchen', ending).toString('hex'), rooms[0]);
    }
  });

  test('the PNG in the colours of the node is complete: each chunk ends where the next begins', () => {
    const png = fileFor('kitchen', '.png');
    const kinds: string[] = [];
    for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
      const data = png.subarray(at + 8, at + 8 + png.readUInt32BE(at));
      kinds.push(png.toString('latin1', at + 4, at + 8));
      if (kinds.at(-1) === 'IDAT') assert.ok(inflateSync(data).length > 0);
    }
    assert.deepEqual([kinds.at(0), kinds.at(-1)], ['IHDR', 'IEND']);
    assert.ok(kinds.includes('PLTE'));
  });

  test('the script is the same on every node', () => {
    assert.equal(fileForNode('app-1.js', Buffer.from(''), 'kitchen'), undefined);
  });
});
