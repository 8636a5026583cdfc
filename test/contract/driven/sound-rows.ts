// Rows of the table (row.ts) about the sound server: the keys of `pulseaudio`, the routes below /audio, and
// the events of the backend `audio`. input-rows.ts has the rows about inputs. `house` and `plain` are on a
// real PulseAudio with the outputs `living` and `kitchen`, `cards` is on a scripted server, and `bare` has
// no backend. `houseConfig` (house.ts) has the limit, label, start volume and group that the rows expect.

import assert from 'node:assert/strict';
import type {
  AudioRecord,
  CardRecord,
  ClientRecord,
  NetworkRecord,
  OutputRecord,
  SleepRecord,
} from '../../../src/protocol/actor/schemas.js';
import { ScriptedPlayer } from '../../actors/players/scripted-player.js';
import { freePort } from '../../tools/free-port.js';
import { until } from '../../until.js';
import { assertCalled, COOKIE, HASTENED_SLEEP_MINUTES, type House, textVariant } from './house.js';
import type { Row } from './row.js';

const readOutput = async ({ house }: House, name: string): Promise<OutputRecord> => {
  const outputs = await house.read<readonly OutputRecord[]>('/audio/outputs');
  return outputs.find((output) => output.name === name) ?? assert.fail(`there is no output ${name}`);
};

/** Runs pactl again and again, until its output matches `fits`. */
export const untilPactl = ({ sound }: House, fits: RegExp, ...args: readonly string[]): Promise<boolean> =>
  until(`pactl ${args.join(' ')} prints ${fits}`, async () => fits.test(await sound.pactl(...args)));

/**
 * Runs `act` while a stream called News plays to `living`. Resolves when the event of the stream's end has
 * come.
 */
async function withStream(node: House, act: (id: number) => Promise<void>): Promise<void> {
  const playing = await node.sound.play({ app: 'radio', name: 'News', sink: 'living', samples: node.tone });
  try {
    await node.house.untilRead<readonly ClientRecord[]>('/audio/clients', (clients) =>
      clients.some(({ id }) => id === playing.id),
    );
    await act(playing.id);
  } finally {
    await playing.stop();
  }
  // Without this wait, the event could come during the next row, which may wait for such an event, too.
  await node.house.untilEvent('audio.removed', (data) =>
    (JSON.parse(data) as readonly ClientRecord[]).some(
      ({ id, name }) => id === playing.id && name === 'News',
    ),
  );
}

export const SOUND_ROWS: readonly Row<House>[] = [
  {
    drives: ['key pulseaudio.enabled', 'operation audio', 'operation audioServer'],
    title: 'pulseaudio.enabled decides whether the sound server is published',
    run: async ({ house, bare }) => {
      const { kind, server } = await house.read<AudioRecord>('/audio');
      assert.deepEqual([kind, server.default_sink], ['pulseaudio', 'living']);
      assert.deepEqual(await house.read('/audio/server'), server);
      assert.equal(await bare.statusOf('/audio'), 404);
    },
  },
  {
    drives: ['key pulseaudio.serve_cookie', 'operation cookie'],
    title: 'pulseaudio.serve_cookie gives the cookie to clients',
    run: async ({ house, plain }) => {
      assert.equal((await house.send('GET', '/audio/cookie')).text, COOKIE);
      assert.equal(await plain.statusOf('/audio/cookie'), 404);
    },
  },
  {
    drives: ['operation sleep', 'operation startSleep', 'operation stopSleep', 'event audio.sleep'],
    title: 'a sleep pauses a player when the sleep is over, and a sleep that is stopped is no longer active',
    run: async ({ house, userBus, ending, bare }) => {
      const untilActive = (expected: boolean) =>
        house.untilRead<SleepRecord>('/audio/sleep', ({ active }) => active === expected);
      await house.post('/audio/sleep', { minutes: 30 });
      await untilActive(true);
      // A sleep has a fade of 20 s by default (`FADE_S` of actors/audio/sleep.ts).
      await house.untilEvent('audio.sleep', (data) => data.includes('"fade":20'));
      await house.post('/audio/sleep/stop');
      await untilActive(false);
      const player = await ScriptedPlayer.start(ending, userBus, 'lullaby', {
        PlaybackStatus: textVariant('Playing'),
      });
      await house.untilRead<readonly unknown[]>('/players', ({ length }) => length === 1);
      // Nothing plays to an output, so this sleep has no fade, and is over at once (hasten.ts).
      await house.post('/audio/sleep', { minutes: HASTENED_SLEEP_MINUTES });
      await untilActive(false);
      assertCalled(player, 'Pause');
      player.leave();
      assert.equal(await bare.statusOf('/audio/sleep'), 404);
    },
  },
  {
    drives: ['operation network'],
    title: 'GET /audio/network says how other machines can play to this one, or that they cannot',
    run: async ({ house, bare, sound }) => {
      const closed = { enabled: false, addresses: [], commands: [] };
      assert.deepEqual(await house.read('/audio/network'), closed);
      const port = await freePort();
      await sound.pactl('load-module', 'module-native-protocol-tcp', `port=${port}`, 'auth-anonymous=1');
      const network = await house.read<NetworkRecord>('/audio/network');
      assert.deepEqual([network.enabled, network.port, network.cookie], [true, port, 'unused']);
      await sound.pactl('unload-module', 'module-native-protocol-tcp');
      assert.deepEqual(await house.read('/audio/network'), closed);
      assert.equal(await bare.statusOf('/audio/network'), 404);
    },
  },
  {
    drives: ['key pulseaudio.volumeLimit', 'operation setOutputVolume'],
    title: 'a volume reaches the output, and pulseaudio.volumeLimit bounds it',
    run: async (node) => {
      const { house, plain } = node;
      await house.post('/audio/outputs/kitchen/volume', { volume: 0.4 });
      await untilPactl(node, / 40% /, 'get-sink-volume', 'kitchen');
      const refused = await house.send('POST', '/audio/outputs/kitchen/volume', { volume: 0.6 });
      assert.equal(refused.status, 400);
      assert.equal((await readOutput(node, 'kitchen')).volume_limit, 0.5);
      // `plain` has no limit, and is another program for `house`. `house` accepts what other programs set.
      await plain.post('/audio/outputs/kitchen/volume', { volume: 0.6 });
      await untilPactl(node, / 60% /, 'get-sink-volume', 'kitchen');
    },
  },
  {
    drives: ['key pulseaudio.outputs', 'operation outputs'],
    title: 'pulseaudio.outputs names an output',
    run: async (node) => {
      const { nick, label } = await readOutput(node, 'living');
      assert.deepEqual([nick, label], ['Parlour', 'Parlour']);
      const others = await node.plain.read<readonly OutputRecord[]>('/audio/outputs');
      assert.ok(others.every((other) => other.nick !== 'Parlour' && other.label !== 'Parlour'));
    },
  },
  {
    drives: ['key pulseaudio.outputs'],
    title: 'pulseaudio.outputs sets the start volume of an output that appears',
    run: async (node) => {
      await node.sound.addSink('cellar');
      await untilPactl(node, / 20% /, 'get-sink-volume', 'cellar');
      await node.sound.removeSink('cellar');
    },
  },
  {
    drives: ['key pulseaudio.groups'],
    title:
      'pulseaudio.groups makes one output of the listed outputs, and a node without that group removes it',
    run: async (node) => {
      await node.sound.addSink('shed');
      const isGroup = (data: string): boolean => /"label":"All".*"group":\["shed"\]/.test(data);
      await node.house.untilEvent('audio.output.updated', isGroup);
      // While `shed` is there, `house` would make the group again after `plain` has removed it.
      await node.sound.removeSink('shed');
      // `plain` has no group configured. It cannot tell this group from one of its own earlier
      // configuration, so it removes the group.
      await node.house.untilRead<readonly OutputRecord[]>('/audio/outputs', (outputs) =>
        outputs.every(({ name }) => !name.startsWith('tonearm.')),
      );
    },
  },
  {
    drives: ['operation muteServer', 'operation setServerVolume', 'event audio.output.updated'],
    title: 'volume and mute reach the default output, and are events',
    run: async (node) => {
      await node.house.post('/audio/server/volume', { volume: 0.33 });
      await node.house.post('/audio/server/mute', { muted: true });
      await untilPactl(node, / 33% /, 'get-sink-volume', 'living');
      await untilPactl(node, /yes/, 'get-sink-mute', 'living');
      await node.house.untilEvent('audio.output.updated', (data) => /"muted":true/.test(data));
      // Without a body, the command toggles the mute.
      await node.house.post('/audio/server/mute');
      await untilPactl(node, /no/, 'get-sink-mute', 'living');
    },
  },
  {
    drives: ['operation muteOutput', 'operation setOutputBalance'],
    title: 'mute and balance reach an output',
    run: async (node) => {
      await node.house.post('/audio/outputs/kitchen/mute', { muted: true });
      await untilPactl(node, /yes/, 'get-sink-mute', 'kitchen');
      await node.house.post('/audio/outputs/kitchen/mute', { muted: false });
      await node.house.post('/audio/outputs/kitchen/balance', { balance: -1 });
      await untilPactl(node, /balance -1\.00/, 'get-sink-volume', 'kitchen');
      await node.house.post('/audio/outputs/kitchen/balance', { balance: 0 });
    },
  },
  {
    drives: ['operation setDefaultOutput'],
    title: 'another output becomes the default',
    run: async (node) => {
      await node.house.post('/audio/outputs/kitchen/default');
      await untilPactl(node, /^kitchen$/m, 'get-default-sink');
      await node.house.post('/audio/outputs/living/default');
      await untilPactl(node, /^living$/m, 'get-default-sink');
    },
  },
  {
    drives: ['operation setDefaultOutput'],
    title: 'a stream of sound moves to the new default output if the command has "move": true',
    run: (node) =>
      withStream(node, async (id) => {
        await node.house.post('/audio/outputs/kitchen/default', { move: true });
        const clients = await node.house.read<readonly ClientRecord[]>('/audio/clients');
        assert.equal(clients.find((client) => client.id === id)?.output, 'kitchen');
        await node.house.post('/audio/outputs/living/default');
        await untilPactl(node, /^living$/m, 'get-default-sink');
      }),
  },
  {
    drives: ['event audio.output.removed'],
    title: 'an event announces that an output goes',
    run: async ({ house, sound }) => {
      await sound.addSink('attic');
      await house.untilEvent('audio.output.updated', (data) => data.includes('"attic"'));
      await sound.removeSink('attic');
      await house.untilEvent('audio.output.removed', (data) => data.includes('"attic"'));
    },
  },
  {
    drives: ['operation clients', 'operation muteClient', 'operation setClientVolume', 'event audio.updated'],
    title: 'volume and mute reach a stream of sound, and are events',
    run: (node) =>
      withStream(node, async (id) => {
        await node.house.post('/audio/clients/News/volume', { volume: 0.25 });
        await node.house.post(`/audio/clients/${id}/mute`, { muted: true });
        await untilPactl(node, /Mute: yes[\s\S]* 25% /, 'list', 'sink-inputs');
        await node.house.untilEvent('audio.updated', (data) => /"volume":0\.25/.test(data));
      }),
  },
  {
    drives: ['operation moveClient', 'event audio.removed'],
    title: 'a stream of sound is moved, and its end is an event',
    // `withStream` waits for the event of the end.
    run: (node) =>
      withStream(node, async (id) => {
        await node.house.post(`/audio/clients/${id}/output`, { output: 'kitchen' });
        await node.house.untilEvent('audio.updated', (data) => data.includes('"output":"kitchen"'));
      }),
  },
  {
    drives: ['event audio.level'],
    title: 'the level of an output is measured',
    run: (node) =>
      withStream(node, async () => {
        // An earlier row has set this volume to 33 %, at which the peak would be below 0.1.
        await node.sound.pactl('set-sink-volume', 'living', '100%');
        await node.house.untilEvent('audio.level', (data) => /"peak":\[0\.[1-9]/.test(data));
      }),
  },
  {
    drives: ['operation cards', 'operation setCardProfile', 'event audio.card.updated'],
    title: 'a card switches to another profile',
    run: async ({ cards, card }) => {
      const [dac] = await cards.read<readonly CardRecord[]>('/audio/cards');
      assert.equal(dac?.active_profile, 'stereo');
      await cards.post('/audio/cards/dac/profile', { profile: 'surround' });
      assert.equal(card.state.profile, 'surround');
      await cards.untilEvent('audio.card.updated', (data) => data.includes('"active_profile":"surround"'));
    },
  },
  {
    drives: ['operation setOutputPort'],
    title: 'an output switches to another port',
    run: async ({ cards, card }) => {
      await cards.post('/audio/outputs/living/port', { port: 'line' });
      assert.equal(card.state.port, 'line');
      const [living] = await cards.read<readonly OutputRecord[]>('/audio/outputs');
      assert.equal(living?.active_port, 'line');
    },
  },
  {
    drives: ['event audio.card.removed'],
    title: 'an event announces that a card is unplugged',
    run: async ({ cards, card }) => {
      card.unplug();
      await cards.untilEvent('audio.card.removed', (data) => data.includes('"dac"'));
    },
  },
];
