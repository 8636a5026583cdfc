// Causes one fault after the other on the installed node with all backends, bridges, players and its page,
// under load. After each fault everything is up within the fault's bound, every request was answered, and
// all clients know the true state. At the end the daemon takes hardly more memory and descriptors than
// before.
//
// Without TONEARM_FAULTS, the seed chooses one fault of each part. TONEARM_FAULTS=all causes all faults.
// `npm run soak` also causes all, if there is time. TONEARM_FAULTS=TEXT,TEXT causes the faults whose names
// contain one of the texts. TONEARM_FUZZ_SEED=N repeats a series.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { SEED, SeededRandom } from '../../seeded-random.js';
import { BootedNode, NODE_ROOT, whyNoNode } from '../node.js';
import { FaultedNode } from './faulted-node.js';
import { Series } from './series.js';
import { chooseFaults } from './table.js';

const skip = whyNoNode('chromium', 'mosquitto', 'mpv', 'avahi-browse');
const SELECTION = process.env['TONEARM_FAULTS'] ?? '';
/** True if the node boots over another Debian than this machine's (container.ts). */
const IS_OTHER_DEBIAN = NODE_ROOT !== '/';
/**
 * An even number chooses PulseAudio, an odd one PipeWire. One is added for the other Debian, so that the two
 * Debians of one run have different sound servers.
 */
const SEED_OF_SOUND = IS_OTHER_DEBIAN ? SEED + 1 : SEED;
const SOUND = SEED_OF_SOUND % 2 === 0 ? 'pulseaudio' : 'pipewire';
/** The first unit of each list is the unit to which the daemon connects. */
const SOUND_UNITS = {
  pulseaudio: ['pulseaudio.service'],
  pipewire: ['pipewire-pulse.service', 'pipewire.service', 'wireplumber.service'],
} as const;

describe(`faults, seed ${SEED}, ${SOUND}`, { skip }, () => {
  const booted = new BootedNode(SOUND);
  const faultedNode = new FaultedNode(booted.node, SOUND_UNITS[SOUND][0]);
  let begunSeries: Series | undefined;
  const series = (): Series => begunSeries ?? assert.fail('the series has not begun');

  before(async () => {
    await booted.boot(['--version', '0.1.0-1', '--compress', 'none']);
    await faultedNode.install();
    await faultedNode.open();
    begunSeries = await Series.begin(faultedNode, new SeededRandom(SEED));
  });
  after(async () => {
    await begunSeries?.end();
    await faultedNode.close();
    await booted.close();
  });

  const faults = chooseFaults(new SeededRandom(SEED), SOUND_UNITS[SOUND], SELECTION);
  for (const [index, fault] of faults.entries())
    test(`step ${index + 1} of ${faults.length}, seed ${SEED}: ${fault.name}`, (t) =>
      series().step(fault, t));

  test('the daemon takes hardly more memory and descriptors than before, and has no more threads', () =>
    series().takesNoMoreThanBefore());

  test('the page has never reloaded, and had no error', async () => {
    // `PageOnNode.open` has set this property. A reload would have removed it.
    assert.equal(await faultedNode.page.evaluate('window.sameDocument'), true);
    assert.deepEqual(faultedNode.pageErrors, []);
  });
});
