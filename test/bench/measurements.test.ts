// Runs two measurements of bench/ in their short form: `codec`, and `change`, which starts a sound server and
// the daemon. The tests of these two check only that there are figures. The other tests check the table of
// Debian packages, and the two JavaScript codecs that `codec` compares.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { changed, chunksOf, listOf } from '../../bench/support/captures.js';
import { CODECS } from '../../bench/support/codecs.js';
import type { Report } from '../../bench/support/measurement.js';
import { skipReason } from '../tools/requirements.js';

const PROJECT = new URL('../../../', import.meta.url);
const DEADLINE_MS = 120_000;
const MEASUREMENTS = [
  // Only the rows whose names contain `part` are measured. `against` is what they are compared with.
  { measurement: 'codec', part: 'encoding', against: ['pulseaudio.js', 'libpulse'] },
  { measurement: 'change', part: 'plain: 1 stream', against: ['a bare program of two threads'] },
] as const;

for (const { measurement, part, against } of MEASUREMENTS) {
  const skip = skipReason({ programs: ['pulseaudio', 'pactl'] });
  test(`the measurement ${measurement} prints its report`, { skip }, async () => {
    const file = fileURLToPath(new URL(`../../bench/${measurement}.js`, import.meta.url));
    const args = [file, '--quick', '--json', part];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: DEADLINE_MS });

    const { name, machine, quick, notes, rows } = JSON.parse(stdout) as Report;
    assert.deepEqual({ name, quick }, { name: measurement, quick: true });
    assert.ok(machine.cores > 0);
    assert.ok(machine.sound.length > 0);
    assert.ok(rows.length > 0);
    for (const row of rows) {
      assert.ok(row.what.includes(part), row.what);
      assert.ok(row.result.median > 0, row.what);
      assert.ok((row.ratio?.median ?? 0) > 0, row.what);
    }
    // Without a compiler the measurement leaves libpulse out, and reports this in a note. So each missing
    // comparison must have a note.
    const missingComparisons = against.filter((other) => !rows.some((row) => row.against?.what === other));
    assert.equal(missingComparisons.length, notes.length, `${missingComparisons} ${notes}`);
  });
}

test('packaging/debian.mjs has an entry for each measurement, and no other entry', async () => {
  const { FOR_BENCH } = await import(new URL('packaging/debian.mjs', PROJECT).href);
  const measurements = readdirSync(new URL('bench', PROJECT)).filter((file) => file.endsWith('.ts'));
  const names = measurements.map((file) => file.slice(0, -'.ts'.length));
  assert.deepEqual(Object.keys(FOR_BENCH), names.sort());
});

test('both JavaScript codecs decode 500 sink inputs, also in chunks, and a changed list differently', () => {
  for (const server of ['pulse', 'pipewire'] as const) {
    const list = listOf(server, 500);
    for (const codec of [CODECS.ours(), CODECS.theirs()]) {
      const indices = codec.decode([list.bytes]).map((sinkInput) => Reflect.get(sinkInput, 'index'));
      const expected = Array.from({ length: 500 }, (_, at) => at);
      assert.deepEqual(indices, expected);
      assert.deepEqual(codec.decode(chunksOf(list.bytes)), codec.decode([list.bytes]));
      // The change is in a property of each sink input. A codec that skips properties would not notice it.
      assert.notDeepEqual(codec.decode([changed(list).bytes]), codec.decode([list.bytes]));
    }
  }
});
