// The states of the page that people see every day (see looked-at-states.ts).

import { type State, testStates } from './looked-at-states.js';
import { player } from './node-with-page.js';

const STATES: Readonly<Record<string, State>> = {
  ordinary: { act: (page) => page.getByText('Checked 1 Jan 2026, 10:00').waitFor() },
  german: {
    language: 'de',
    act: async (page) => {
      await page.getByText('1. Jan. 2026, 10:00').waitFor();
      await page.getByLabel('Mehr zu Living room').click();
    },
  },
  players: {
    node: {
      players: [
        player('radio', {
          identity: 'Internet radio',
          metadata: { 'xesam:title': 'Morning concert', 'xesam:artist': 'Radio One' },
          position: 3_725_000_000,
          shuffle: undefined,
          loop_status: undefined,
          volume: undefined,
        }),
        player('spotifyd', { playback_status: 'Paused', loop_status: 'Track', shuffle: true }),
        player('mpv', { identity: 'mpv', playback_status: 'Stopped', metadata: {}, position: undefined }),
      ],
    },
  },
};

testStates(STATES);
