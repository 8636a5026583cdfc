// Tests the built daemon with volume limits, passthrough, outputs with the same name, and various addresses
// of the sound server. The tests also check the reasons with which the daemon refuses commands. In
// actors/audio, limits.test.ts, real-limits.test.ts and server-address.test.ts test the rules themselves.

import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Listed, percents } from '../sound/pactl.js';
import type { SoundServer } from '../sound/server.js';
import { SOUND_SERVERS, startPulseAudio } from '../sound/servers.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { AUDIO_ONLY, AudioNode, type Output, startAudio } from './audio-node.js';
import { Daemon } from './daemon.js';

const PULSEAUDIO = { skip: skipReason({ programs: ['pulseaudio', 'pactl', 'pacat'] }) };
const LIMITED = `${AUDIO_ONLY}pulseaudio: {volumeLimit: {living: 0.5}}\n`;

async function startNode(t: TestContext, config: string, startSound?: () => Promise<SoundServer>) {
  const soundAndDaemon = await startAudio(t, { config, startSound });
  const node = new AudioNode(soundAndDaemon, await soundAndDaemon.daemon.events('?snapshot=1'));
  /** Posts, demands a refusal with this status, and resolves with the reason of the refusal. */
  const postRefused = async (path: string, body: unknown, status: number): Promise<string> => {
    const answer = await node.daemon.post(path, body);
    assert.equal(answer.status, status, `${path}: ${answer.text}`);
    const { detail }: { detail: string } = JSON.parse(answer.text);
    return detail;
  };
  const loudestPercent = async (name: string): Promise<number> => {
    const sinks: readonly Listed[] = await node.sound.sinks();
    const sink = sinks.find((listed) => listed.name === name) ?? assert.fail(name);
    return Math.max(...percents(sink));
  };
  return { node, postRefused, loudestPercent };
}

test(
  'an echo canceller obeys the volume limit of its master, and the record of the echo canceller has this limit',
  PULSEAUDIO,
  async (t) => {
    const { node, postRefused, loudestPercent } = await startNode(t, LIMITED);
    await node.change('/audio/outputs/living/volume', { volume: 0.4 });
    await node.sound.pactl('load-module', 'module-null-source', 'source_name=microphone');
    const cancellerArguments = ['sink_master=living', 'source_master=microphone', 'aec_method=speex'];
    await node.sound.pactl('load-module', 'module-echo-cancel', 'sink_name=echo', ...cancellerArguments);
    await node.untilOutput('echo', { volume_limit: 0.5 });
    await node.change('/audio/outputs/echo/default');
    for (const path of ['/audio/outputs/echo/volume', '/audio/server/volume']) {
      const detail = await postRefused(path, { volume: 0.9 }, 400);
      assert.equal(detail, "Field volume must be at most 0.5, the output's volume_limit");
    }
    await node.change('/audio/server/volume', { delta: 1 });
    // An echo canceller shares the volume of its master (docs/development/what-we-learnt.md, "PulseAudio and
    // PipeWire").
    assert.deepEqual([await loudestPercent('echo'), await loudestPercent('living')], [50, 50]);
    await node.streamAgrees();
  },
);

test(
  'with flat volumes, a client that is set to volume 1 raises its output only to the volume limit',
  PULSEAUDIO,
  async (t) => {
    const start = () => startPulseAudio({ flatVolumes: true });
    const { node, loudestPercent } = await startNode(t, LIMITED, start);
    await node.change('/audio/outputs/living/volume', { volume: 0.4 });
    const { id } = await node.sound.play({ sink: 'living' });
    await node.untilClient(id);
    await node.change(`/audio/clients/${id}/volume`, { volume: 1 });
    assert.equal(await loudestPercent('living'), 50);
    // With flat volumes, an output is as loud as its loudest client, so this client has the volume 0.5, too.
    await node.untilClient(id, { volume: 0.5 });
  },
);

test(
  'during passthrough, the client and its output refuse volume and balance with the reason, and the output accepts a mute',
  PULSEAUDIO,
  async (t) => {
    const start = () => startPulseAudio({ sinks: [{ name: 'living' }] });
    const { node, postRefused } = await startNode(t, AUDIO_ONLY, start);
    await (await node.sound.streams()).open([{ passthrough: true, props: { 'media.name': 'Film' } }]);
    await node.untilAudio('the film is listed', ({ clients }) => clients.some(({ name }) => name === 'Film'));
    const reason = 'The output has no volume while "Film" is played as it is (passthrough)';
    for (const path of ['/audio/outputs/living', '/audio/server']) {
      assert.equal(await postRefused(`${path}/volume`, { volume: 0.3 }, 409), reason);
      assert.equal(await postRefused(`${path}/volume`, { delta: -0.1 }, 409), reason);
    }
    assert.equal(await postRefused('/audio/outputs/living/balance', { balance: 0.5 }, 409), reason);
    assert.match(
      await postRefused('/audio/clients/Film/volume', { volume: 1 }, 409),
      /^The stream has no volume/,
    );
    await node.change('/audio/outputs/living/mute', { muted: true });
    assert.equal((await node.sound.sinks())[0]?.mute, true);
  },
);

// Only PipeWire can have two outputs with the same name. PulseAudio renames the second output.
const [pipeWire] = SOUND_SERVERS.filter(({ kind }) => kind === 'pipewire');

test('each of two outputs with the same name accepts a volume by its id, but neither can become the default (409)', {
  skip: pipeWire?.skip ?? 'PipeWire is not among the sound servers here',
}, async (t) => {
  const { node, postRefused } = await startNode(t, AUDIO_ONLY, pipeWire?.start);
  await node.sound.pactl('load-module', 'module-null-sink', 'sink_name=kitchen');
  await node.untilAudio('all three outputs are listed', ({ outputs }) => outputs.length === 3);
  const outputs = await node.daemon.read<readonly Output[]>('/audio/outputs');
  const ids = outputs.filter(({ name }) => name === 'kitchen').map(({ id }) => id);
  for (const [index, id] of ids.entries()) {
    await node.change(`/audio/outputs/${id}/volume`, { volume: index === 0 ? 0.2 : 0.3 });
    assert.match(
      await postRefused(`/audio/outputs/${id}/default`, undefined, 409),
      /is called "kitchen", too/,
    );
  }
  await node.untilAudio('each of the two outputs has its volume', (audio) => {
    const volumes = audio.outputs.filter(({ name }) => name === 'kitchen').map(({ volume }) => volume);
    return volumes.join() === '0.2,0.3';
  });
});

test(
  'the daemon refuses a PULSE_SERVER on the network, gives the reason in /health and the log, and uses no local server instead',
  PULSEAUDIO,
  async (t) => {
    const sound = await startPulseAudio();
    t.after(() => sound.stop());
    // The socket of `sound` is in the XDG_RUNTIME_DIR of `sound.env`, so the daemon could find it there.
    const env = { ...sound.env, PULSE_SERVER: 'tcp:hifi.local:4713' };
    const daemon = await Daemon.start({ config: AUDIO_ONLY, env }, t);
    const reason = 'PULSE_SERVER is tcp:hifi.local:4713: tonearm speaks to a Unix socket only';
    await daemon.untilBackend('audio', 'connecting', new RegExp(reason));
    await until('the reason is logged', () => daemon.log.includes(reason));
    assert.equal((await daemon.get('/audio')).status, 503);
  },
);

test("the daemon uses the default-server of the user's client.conf", PULSEAUDIO, async (t) => {
  const sound = await startPulseAudio();
  t.after(() => sound.stop());
  const home = temporaryFolder(t);
  mkdirSync(join(home, '.config/pulse'), { recursive: true });
  writeFileSync(join(home, '.config/pulse/client.conf'), `default-server = unix:${sound.socketPath}\n`);
  const env = { PATH: sound.env['PATH'] ?? '', HOME: home, XDG_RUNTIME_DIR: home };
  const daemon = await Daemon.start({ config: AUDIO_ONLY, env }, t);
  await daemon.untilBackend('audio', 'up');
});
