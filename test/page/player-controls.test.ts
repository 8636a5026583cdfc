// Tests that each player has the controls that its record allows, and that each control has the right state.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlayerRecord } from '../../src/client/client.js';
import { canBeSilenced, controlsOf, lengthOf, type PlayerControls } from '../../src/page/player-controls.js';

/** A player that plays a track of three minutes, and can do everything. */
const ABLE_PLAYER = {
  bus_name: 'org.mpris.MediaPlayer2.mpd',
  identity: 'Music Player Daemon',
  playback_status: 'Playing',
  loop_status: 'None',
  shuffle: false,
  volume: 1,
  position: 0,
  position_updated_at: '2026-01-01T00:00:00.000Z',
  metadata: { 'xesam:title': 'A title', 'mpris:length': '180000000' },
  tracklist_supported: true,
  capabilities: {
    can_play: true,
    can_pause: true,
    can_go_next: true,
    can_go_previous: true,
    can_seek: true,
    can_control: true,
  },
} as const satisfies PlayerRecord;

type Capabilities = Partial<PlayerRecord['capabilities']>;

const playerWith = (capabilities: Capabilities, others: Partial<PlayerRecord> = {}): PlayerRecord => ({
  ...ABLE_PLAYER,
  capabilities: { ...ABLE_PLAYER.capabilities, ...capabilities },
  ...others,
});

function playerWithout(...absent: readonly (keyof PlayerRecord)[]): PlayerRecord {
  const entries = Object.entries(ABLE_PLAYER).filter(
    ([name]) => !absent.includes(name as keyof PlayerRecord),
  );
  return Object.fromEntries(entries) as unknown as PlayerRecord;
}

const CONTROLS_OF_ABLE_PLAYER: PlayerControls = {
  previous: 'usable',
  play: 'usable',
  pause: 'usable',
  next: 'usable',
  // A player that can pause has its stop among the rarely used controls.
  stop: 'absent',
  seldomStop: 'usable',
  shuffle: 'usable',
  loop: 'usable',
  position: 'usable',
  volume: 'usable',
  tracks: 'usable',
};

const STOPPED = { playback_status: 'Stopped', metadata: {} } as const;

type Row = readonly [title: string, player: PlayerRecord, differences: Partial<PlayerControls>];
const ROWS: readonly Row[] = [
  ['a player that can do everything has stop among the rarely used controls', ABLE_PLAYER, {}],
  [
    'a player whose list has no other track has disabled buttons for previous and next',
    playerWith({ can_go_next: false, can_go_previous: false }),
    { next: 'disabled', previous: 'disabled' },
  ],
  [
    'a player that cannot pause has stop beside the other buttons',
    playerWith({ can_pause: false }),
    { pause: 'disabled', stop: 'usable', seldomStop: 'absent' },
  ],
  [
    'a player that cannot pause and has no track has nothing to stop',
    playerWith({ can_pause: false }, STOPPED),
    { pause: 'disabled', stop: 'disabled', seldomStop: 'absent', position: 'absent' },
  ],
  [
    'a player that can pause and has no track has nothing to stop',
    playerWith({}, STOPPED),
    { seldomStop: 'disabled', position: 'absent' },
  ],
  // The player may be able to play by now, and may not have announced it.
  [
    'a player that reports that it cannot play has a doubtful play button',
    playerWith({ can_play: false }),
    { play: 'doubtful' },
  ],
  // Previous, pause, next and the position depend only on `can_go_previous`, `can_pause`, `can_go_next` and
  // `can_seek`. All other controls depend on `can_control`.
  [
    'a player that cannot be controlled has disabled controls, apart from previous, pause, next and position',
    playerWith({ can_control: false }),
    {
      play: 'disabled',
      seldomStop: 'disabled',
      shuffle: 'disabled',
      loop: 'disabled',
      volume: 'disabled',
      tracks: 'disabled',
    },
  ],
  [
    'a player that cannot seek has a position that cannot be moved',
    playerWith({ can_seek: false }),
    { position: 'disabled' },
  ],
  [
    'a player with a radio station has no slider for the position',
    playerWith({}, { metadata: { 'xesam:title': 'News' } }),
    { position: 'absent' },
  ],
  [
    'a player without shuffle, loop, volume and position has no controls for them',
    playerWithout('shuffle', 'loop_status', 'volume', 'position'),
    { shuffle: 'absent', loop: 'absent', volume: 'absent', position: 'absent' },
  ],
];

for (const [title, player, differences] of ROWS)
  test(title, () => assert.deepEqual(controlsOf(player), { ...CONTROLS_OF_ABLE_PLAYER, ...differences }));

test('a player can be silenced only if it plays, and can pause or be stopped', () => {
  assert.equal(canBeSilenced(ABLE_PLAYER), true);
  assert.equal(canBeSilenced(playerWith({}, { playback_status: 'Paused' })), false);
  assert.equal(canBeSilenced(playerWith({ can_pause: false })), true);
  // Pause does not need `can_control`, but stop does.
  assert.equal(canBeSilenced(playerWith({ can_control: false })), true);
  assert.equal(canBeSilenced(playerWith({ can_pause: false, can_control: false })), false);
});

test('a track has its length in microseconds, and 0 if its length is not known', () => {
  assert.equal(lengthOf(ABLE_PLAYER), 180_000_000);
  assert.equal(lengthOf(playerWith({}, { metadata: { 'mpris:length': 'long' } })), 0);
  assert.equal(lengthOf(playerWithout('metadata')), 0);
});
