// The installed node with all backends, bridges, players and its page, under load, and one fault after the
// other: after each, all is up within its bound, nobody was hung, everybody knows the truth; at the end
// memory and descriptors are back where they were.
//
// One fault of each part, chosen by the seed. TONEARM_FAULTS=all does them all, as `npm run soak` does;
// TONEARM_FAULTS=NAME,NAME those whose names contain these. TONEARM_FUZZ_SEED=N repeats a series.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SEED, SeededRandom } from '../../seeded-random.js';
import { BootedNode, NODE_ROOT, whyNoNode } from '../node.js';
import { FaultedNode } from './faulted-node.js';
import { Series } from './series.js';
import { series } from './table.js';

const skip = whyNoNode('chromium', 'mosquitto', 'mpv', 'avahi-browse');
const SELECTION = process.env['TONEARM_FAULTS'] ?? '';
/** The two Debians of one run have different ones. */
const SOUND = (SEED + (NODE_ROOT === '/' ? 0 : 1)) % 2 === 0 ? 'pulseaudio' : 'pipewire';
const SOUND_UNITS = {
  pulseaudio: ['pulseaudio.service'],
  pipewire: ['pipewire-pulse.service', 'pipewire.service', 'wireplumber.service'],
} as const;

describe(`faults, seed ${SEED}, ${SOUND}`, { skip }, () => {
  const booted = new BootedNode(SOUND);
  const on = new FaultedNode(booted.node, SOUND_UNITS[SOUND][0]);
  let begun: Series | undefined;
  const run = (): Series => begun ?? assert.fail('nothing has begun');

  before(async () => {
    await booted.boot(['--version', '0.1.0-1', '--compress', 'none']);
    await on.install();
    await on.open();
    begun = await Series.begin(on, new SeededRandom(SEED));
  });
  after(async () => {
    await begun?.end();
    await on.close();
    await booted.close();
  });

  const rows = series(new SeededRandom(SEED), SOUND_UNITS[SOUND], SELECTION);
  for (const [index, fault] of rows.entries())
    test(`step ${index + 1} of ${rows.length}, seed ${SEED}: ${fault.name}`, (t) => run().step(fault, t));

  test('the daemon takes no more memory and descriptors than before', () => run().isBackWhereItWas());

  test('the page has never reloaded, and had no error', async () => {
    assert.equal(await on.page.evaluate('window.sameDocument'), true);
    assert.deepEqual(on.faults, []);
  });
});
