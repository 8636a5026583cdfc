// Strange names on real sound servers (docs/http-api.md, "Names of clients").

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onEachSoundServer } from './audio-node.js';

/** The kept length of a name, as in text-cache.ts. */
const NAME_UNITS = 1024;

onEachSoundServer('names', (node) => {
  test('repeated, empty, huge, many-lined and coloured names are shown, unique and bounded', async () => {
    const wild = [
      'same',
      'same',
      'same',
      '',
      'x'.repeat(60_000),
      'two\nlines\r\nand "quotes"',
      '🎵 smörgåsbord 🎶',
    ];
    const client = await node().sound.streams('wild');
    const streams = await client.open(
      wild.map((name) => ({ sink: 'living', props: { 'media.name': name } })),
    );
    const ids = streams.map(({ id }) => id);
    for (const id of ids) await node().clientIs(id);
    const names = await Promise.all(ids.map(async (id) => (await node().client(id)).name));
    assert.equal(new Set(names).size, names.length, 'names are unique');
    const [, second, third] = ids;
    const same = names.slice(0, 3).sort();
    assert.deepEqual(same, ['same', `same #${second}`, `same #${third}`].sort(), `${ids}`);
    assert.equal(names[3], 'wild', 'an empty media.name falls back to the application');
    assert.equal(names[4], 'x'.repeat(NAME_UNITS));
    assert.deepEqual(names.slice(5), wild.slice(5));
    await node().streamTellsTheTruth();
    for (const name of names.filter((each) => each.length < NAME_UNITS)) {
      await node().change(`/audio/clients/${encodeURIComponent(name)}/volume`, { volume: 0.25 });
    }
    for (const [at, id] of ids.entries()) if (at !== 4) await node().clientIs(id, { volume: 0.25 });
    await client.close();
    await node().settles('all are gone', ({ clients }) => clients.length === 0);
    await node().streamTellsTheTruth();
  });
});
