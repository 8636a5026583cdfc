// The states of the page that people see every day, and names of every kind (see looked-at-states.ts).

import { lookedAt, type State } from './looked-at-states.js';
import { ORDINARY, output, player, service, stream, upgrade } from './node-with-page.js';

const WILD = [
  '<img src=x onerror="document.title=1"><b>bold</b>',
  '"\'`&amp;</script><script>document.title=1</script>',
  '\u202eright to left \u2066and \u202dback',
  'שלום עולם – مرحبا بالعالم',
  '👩‍👩‍👧‍👦🎵🏴‍☠️',
  'a'.repeat(4096),
  'words '.repeat(600),
];

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
        player('spotifyd', {
          identity: 'spotifyd',
          playback_status: 'Paused',
          loop_status: 'Track',
          shuffle: true,
        }),
        player('mpv', { identity: 'mpv', playback_status: 'Stopped', metadata: {}, position: undefined }),
      ],
    },
  },
  wild: {
    node: {
      audio: [
        ...(ORDINARY['audio'] ?? []).slice(0, 2),
        ...WILD.map((name, id) => output(id, { name, description: name })),
        ...WILD.map((name, id) => stream(10 + id, { name, app: name, output: name })),
      ],
      systemd: WILD.map((text, id) =>
        service(`unit-${id}.service`, { description: text, url: 'javascript:document.title=1' }),
      ),
      players: WILD.map((text, id) =>
        player(`wild-${id}`, { identity: text, metadata: { 'xesam:title': text, 'xesam:artist': text } }),
      ),
      upgrade: upgrade({ latest: WILD[5], upgrade_available: true }),
    },
  },
  refused: {
    act: async (page, node) => {
      node.backends.answer = {
        ok: false,
        fault: 'refused',
        detail: 'The job ended failed: result exit-code, Main process exited, code=exited, status=203/EXEC',
      };
      await page.getByRole('button', { name: 'Start AirPlay receiver' }).click();
      await page.getByText('AirPlay receiver could not start: exit status 203').waitFor();
      await page.getByRole('alert').getByText('Details').click();
      await page.getByText('status=203/EXEC').waitFor();
    },
  },
  opened: {
    act: async (page) => {
      await page.getByLabel('More of Living room').click();
      for (const more of await page.getByLabel('More of Music Player Daemon').all()) await more.click();
    },
  },
};

lookedAt(STATES);
