// Tests the page in the states that people see every day. checked-states.ts has the checks.

import assert from 'node:assert/strict';
import { type State, testStates } from './checked-states.js';
import { player } from './node-with-page.js';
import { openTab } from './pages.js';

const loadTunnel = 'pactl load-module module-tunnel-sink server=tcp:10.0.0.9:4713 sink_name=living-room';
/** The lines that a person types on a computer, so that the computer plays on the node. */
const commands = (['pulseaudio', 'pipewire'] as const).flatMap((server) => [
  { for: server, use: 'program' as const, lines: ['PULSE_SERVER=tcp:10.0.0.9:4713 PROGRAM'] },
  { for: server, use: 'output' as const, lines: [loadTunnel] },
]);

/** The page shows this position as 1:02:05. */
const POSITION_OVER_AN_HOUR_US = 3_725_000_000;

const STATES: Readonly<Record<string, State>> = {
  ordinary: {
    act: async (page) => {
      await openTab('Node', page);
      await page.getByText(/^Checked Jan 1, 2026, 10:00/).waitFor();
      assert.equal(
        await page.getByText('Play from a computer').count(),
        0,
        'the sound server is not open to the network',
      );
    },
  },
  'open to the network': {
    prepare: ({ backends }) => {
      // With `unused`, the sound server demands no cookie, so the page warns that there is no lock.
      backends.network = { enabled: true, addresses: ['10.0.0.9'], port: 4713, cookie: 'unused', commands };
    },
    act: async (page) => {
      await openTab('Sound', page);
      await page.getByText('Play from a computer').click();
      await page.getByText(/There is no lock/).waitFor();
      for (const line of commands.flatMap(({ lines }) => lines))
        await page.getByText(line, { exact: true }).first().waitFor();
    },
  },
  german: {
    language: 'de',
    act: async (page) => {
      await openTab('Node', page);
      await page.getByText('01.01.2026, 10:00').waitFor();
      await openTab('Sound', page);
      await page.getByLabel('Mehr zu Living room').click();
    },
  },
  'playing-on': {
    act: async (page) => {
      await page.getByRole('button', { name: /^Playing on/ }).click();
      await page.getByRole('dialog', { name: 'Play on' }).waitFor();
    },
  },
  players: {
    node: {
      players: [
        player('radio', {
          identity: 'Internet radio',
          metadata: { 'xesam:title': 'Morning concert', 'xesam:artist': 'Radio One' },
          position: POSITION_OVER_AN_HOUR_US,
          shuffle: undefined,
          loop_status: undefined,
          volume: undefined,
        }),
        player('spotifyd', { playback_status: 'Paused', loop_status: 'Track', shuffle: true }),
        player('mpv', { identity: 'mpv', playback_status: 'Stopped', metadata: {}, position: undefined }),
      ],
    },
    act: async (page) => {
      // The first such button belongs to `spotifyd`, which has the default `identity` of `player`.
      await page.getByRole('button', { name: 'More of Music Player Daemon' }).first().click();
      await page.locator('.rows .transport').waitFor();
    },
  },
};

testStates(STATES);
