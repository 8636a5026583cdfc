// Tests the page in states that are rare, such as absent backends, many streams, open questions, refusals and
// strange names. checked-states.ts has the checks.

import assert from 'node:assert/strict';
import { put } from '../gateway/scripted-backends.js';
import { type State, testStates } from './checked-states.js';
import {
  bluetooth,
  card,
  discoveredNode,
  ORDINARY,
  output,
  PAIRED_PHONE,
  player,
  service,
  stream,
  upgrade,
} from './node-with-page.js';
import { openTab } from './pages.js';

const NO_SERVER = 'connect ENOENT /run/user/1000/pulse/native, /run/user/1000/pulse is not there';

const [soundServerKind, soundServer, sleepTimer, firstOutput] = ORDINARY.audio;
const WITHOUT_OUTPUTS = [soundServerKind, soundServer];
const WITH_ONE_OUTPUT = [...WITHOUT_OUTPUTS, sleepTimer, firstOutput];

const STREAM_COUNT = 64;
const MANY_STREAMS = Array.from({ length: STREAM_COUNT }, (_, index) =>
  stream(100 + index, { volume: index / 100 }),
);
/** The page shows this many streams at first (page/streams.tsx). */
const FIRST_ROWS = 8;

/** The middle of a drag handle is this far to the right of its upper left corner, and this far below it. */
const HANDLE_MIDDLE_PX = 22;

const TRACKS = ['One', 'Two'.repeat(99)].map((title, index) => ({
  track_id: `/list/${index}`,
  metadata: { 'xesam:title': title, 'xesam:artist': 'Somebody' },
}));

/** Names that a page could show wrongly, or run as a script. */
const STRANGE_NAMES = [
  '<img src=x onerror="document.title=1"><b>bold</b>',
  '"\'`&amp;</script><script>document.title=1</script>',
  '\u202eright to left \u2066and \u202dback',
  'שלום עולם – مرحبا بالعالم',
  '👩‍👩‍👧‍👦🎵🏴‍☠️',
  'a'.repeat(4096),
  'words '.repeat(600),
];

const STATES: Readonly<Record<string, State>> = {
  'parts-away': {
    node: { players: [] },
    prepare: (node) => {
      for (const backend of ['audio', 'systemd', 'power', 'upgrade', 'players'] as const)
        node.health(backend, 'connecting', NO_SERVER);
    },
    act: async (page, node) => {
      await page.getByText('Players: Not connected, trying again').waitFor();
      await page.getByText('connect ENOENT').first().waitFor();
      node.health('audio', 'failed', 'it has died six times within a minute');
      await page.getByText('it has died six times').first().waitFor();
    },
  },
  'no-card': {
    // A sound server makes this sink as a placeholder while it has no card.
    node: { audio: [...WITHOUT_OUTPUTS, output(0, { name: 'auto_null' })] },
    // The test opens the page after `prepare`, so the page gets this detail in the snapshot.
    prepare: (node) => node.health('audio', 'up', 'The sound server sees no sound card: the kernel has none'),
    act: async (page) => {
      await openTab('Sound', page);
      await page.getByText('sees no sound card: the kernel has none').waitFor();
    },
  },
  'card-off': {
    // No output belongs to the card `usb`, so the page shows the card itself.
    node: { audio: [...ORDINARY.audio, card(4, 'usb', { description: 'USB DAC' })] },
    act: async (page) => {
      await openTab('Sound', page);
      await page.getByRole('combobox', { name: 'Profile of USB DAC' }).waitFor();
    },
  },
  empty: {
    node: {
      audio: WITHOUT_OUTPUTS,
      systemd: [],
      players: [],
      upgrade: upgrade({ current: '', latest: '' }),
    },
  },
  crowd: {
    node: { audio: [...WITH_ONE_OUTPUT, ...MANY_STREAMS] },
    act: async (page) => {
      await page.getByText(`${STREAM_COUNT - FIRST_ROWS} more sounds`).click();
      const lastStream = page.locator('.stream').nth(STREAM_COUNT - 1);
      await lastStream.waitFor({ state: 'attached' });
    },
  },
  searching: {
    node: {
      players: [player('vlc', { identity: 'VLC', tracklist_supported: true })],
      bluetooth: [bluetooth({ scanning: true })],
    },
    prepare: (node) => {
      const tracklist = { can_edit_tracks: true, tracks: TRACKS };
      node.change(put('players.tracklist', 'org.mpris.MediaPlayer2.vlc', tracklist));
      const logEntry = { time: '2026-01-01T10:00:00Z', priority: 3, message: 'x'.repeat(200) };
      node.backends.answer = { ok: true, value: { text: JSON.stringify([logEntry]) } };
    },
    act: async (page, node) => {
      const speaker = { address: 'AA:BB:CC:DD:EE:02', name: 'Speaker '.repeat(9), connected: false };
      node.change(put('bluetooth.discovered', speaker.address, { ...PAIRED_PHONE, ...speaker }));
      // The page cannot use a node with odio-api, which is other software for nodes.
      node.change(
        discoveredNode('living-room', { self: true }),
        discoveredNode('attic-'.repeat(9), { api: 'odio-api' }),
      );
      await openTab('Sound', page);
      await page.getByRole('button', { name: /^Connect Speaker/ }).waitFor();
      await openTab('Node', page);
      await page.locator('.service summary').click();
      await page.locator('.log').waitFor();
      await openTab('Music', page);
      await page.getByText('Tracks (2)').click();
      await page.evaluate('scrollTo(0, 0)');
      await page.locator('.house summary').click();
    },
  },
  pairing: {
    // The pairing ends long after the test.
    node: { bluetooth: [bluetooth({ pairing_active: true, pairing_until: '2126-01-01T10:00:00Z' })] },
    act: (page) => page.getByRole('dialog', { name: 'Pair a phone' }).waitFor(),
  },
  'upgrade-running': {
    node: {
      upgrade: upgrade(
        { latest: '1.5.0', upgrade_available: true },
        { state: 'running', origin: 'systemd', started_at: '2026-01-01T10:00:00Z' },
        { percent: 37, step: 'Unpacking linux-image-6.12.0-arm64' },
      ),
    },
  },
  'upgrade-failed': {
    node: {
      upgrade: upgrade(
        { latest: '1.5.0', upgrade_available: true },
        { state: 'failed', origin: 'systemd', finished_at: '2026-01-01T10:05:00Z' },
      ),
    },
  },
  'question-open': {
    act: async (page) => {
      await openTab('Node', page);
      await page.getByRole('button', { name: 'Restart node' }).click();
      await page.getByRole('dialog').waitFor();
    },
  },
  dragged: {
    act: async (page) => {
      const handle = page.locator('.drag-handle').first();
      await handle.scrollIntoViewIfNeeded();
      const box = await handle.boundingBox();
      assert.ok(box);
      await page.mouse.move(box.x + HANDLE_MIDDLE_PX, box.y + HANDLE_MIDDLE_PX);
      await page.mouse.down();
      // A drag begins after a movement of 6 px (page/streams.tsx).
      await page.mouse.move(box.x + 60, box.y + 60, { steps: 2 });
      await page.locator('.tray').waitFor();
    },
  },
  restarting: {
    act: async (page, node) => {
      await node.close();
      // At a restart, the service ends first. The page cannot know that the service will come back.
      await page.getByText('Service ended', { exact: true }).waitFor();
    },
  },
  wild: {
    node: {
      audio: [
        ...WITHOUT_OUTPUTS,
        ...STRANGE_NAMES.map((name, id) => output(id, { name, description: name })),
        ...STRANGE_NAMES.map((name, id) => stream(10 + id, { name, app: name, output: name })),
      ],
      systemd: STRANGE_NAMES.map((text, id) =>
        service(`unit-${id}.service`, { description: text, url: 'javascript:document.title=1' }),
      ),
      players: STRANGE_NAMES.map((text, id) =>
        player(`wild-${id}`, { identity: text, metadata: { 'xesam:title': text, 'xesam:artist': text } }),
      ),
      upgrade: upgrade({ latest: 'a'.repeat(4096), upgrade_available: true }),
    },
  },
  refused: {
    act: async (page, node) => {
      const detail =
        'The job ended failed: result exit-code, Main process exited, code=exited, status=203/EXEC';
      node.backends.answer = { ok: false, error: { fault: 'refused', detail } };
      await openTab('Node', page);
      await page.getByRole('button', { name: 'Start AirPlay receiver' }).click();
      await page.getByText('AirPlay receiver could not start: exit status 203').waitFor();
      await page.getByRole('alert').getByText('Details').click();
      await page.getByText('status=203/EXEC').waitFor();
    },
  },
  opened: {
    act: async (page) => {
      await page.locator('#now').getByLabel('More of Music Player Daemon').click();
      await openTab('Node', page);
      await page.locator('#services').getByLabel('More of Music Player Daemon').click();
      await openTab('Sound', page);
      await page.getByLabel('More of Living room').click();
    },
  },
};

testStates(STATES);
