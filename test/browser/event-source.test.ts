// Tests a real browser's EventSource on the stream: it connects across origins, resumes after a cut, and outlives the daemon's restart.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { startAudio } from '../contract/audio-node.js';
import { startPulseAudio } from '../sound/servers.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { openChromium } from './chromium.js';
import { startProxy } from './severable-proxy.js';
import { serveSite } from './site.js';

/** A small dashboard: it keeps every output by id, and all received records in order. */
const PAGE = `<!doctype html><title>dashboard</title><script>
  window.outputs = {}; window.told = []; window.opened = 0;
  window.watch = (url) => {
    const source = new EventSource(url);
    source.onopen = () => { window.opened += 1; };
    source.addEventListener('audio.output.updated', (event) => {
      for (const output of JSON.parse(event.data)) {
        window.outputs[output.id] = output;
        window.told.push([event.lastEventId, output.name, output.volume]);
      }
    });
    source.addEventListener('audio.output.removed', (event) => {
      for (const output of JSON.parse(event.data)) delete window.outputs[output.id];
    });
  };
</script>`;

type Told = readonly (readonly [id: string, name: string, volume: number])[];

const volumesTold = (page: Page): Promise<number[]> =>
  page.evaluate('window.told').then((told) => (told as Told).map(([, , volume]) => volume));

const skip = lacks({ programs: ['chromium', 'pulseaudio', 'pactl'] });
test('EventSource in Chromium connects, resumes after a cut and recovers from a restart', {
  skip,
}, async (t) => {
  const startSound = () => startPulseAudio({ sinks: [{ name: 'living' }] });
  const { origin, close } = await serveSite(() => PAGE);
  const api = `cors: {origins: ['${origin}']}`;
  const { sound, daemon } = await startAudio(t, { startSound, api });
  const proxy = await startProxy(daemon.port);
  const browser = await openChromium();
  t.after(async () => {
    await browser.close();
    await proxy.close();
    close();
  });
  const page = await browser.context.newPage();
  await page.goto(origin);
  await page.evaluate(`window.watch('http://127.0.0.1:${proxy.port}/events?snapshot=1')`);
  await until('the snapshot has come', async () => (await volumesTold(page)).length === 1);

  const set = (percent: number) => sound.pactl('set-sink-volume', 'living', `${percent}%`);
  await set(11);
  await until('a live event has come', async () => (await volumesTold(page)).at(-1) === 0.11);
  proxy.sever();
  for (const percent of [12, 13, 14]) {
    await set(percent);
    await until('the daemon has the volume', async () => {
      const [output] = await daemon.read<{ volume: number }[]>('/audio/outputs');
      return output?.volume === percent / 100;
    });
  }
  await until('the missed events have come', async () => (await volumesTold(page)).at(-1) === 0.14);
  assert.deepEqual((await volumesTold(page)).slice(1), [0.11, 0.14], 'of what was missed the newest, once');

  await daemon.restart();
  await set(20);
  await until('the state after the restart has come', async () => (await volumesTold(page)).at(-1) === 0.2);
  const outputs = (await page.evaluate('Object.values(window.outputs)')) as unknown[];
  assert.deepEqual(outputs, await daemon.read('/audio/outputs'));
  assert.equal(await page.evaluate('window.opened'), 3);
});
