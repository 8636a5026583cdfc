// The page and the node's sound: the player is set by clicks and keys, read on mpv's own socket; a sound server
// that is away is shown so, in place, until it is back. Everything else of the page on a sound server: browser/page-audio.test.ts.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { askMpv } from '../../players/mpv.js';
import { until } from '../../until.js';
import { shell } from './commands.js';
import { type PageOnNode, TITLES } from './page-on-node.js';

const SERVICES = {
  pulseaudio: ['pulseaudio.socket', 'pulseaudio.service'],
  pipewire: ['pipewire-pulse.socket', 'pipewire-pulse.service'],
} as const;

type Sound = keyof typeof SERVICES;

/** Then what was done is done again. Each look at the node takes some tenths of a second. */
const SEEN_MS = 3000;

export function pageSoundScenarios(on: PageOnNode, sound: Sound): void {
  const pactl = async (...args: readonly string[]): Promise<string> => {
    const ran = await on.node.user('pactl', ...args);
    assert.equal(ran.status, 0, ran.stderr);
    return ran.stdout;
  };
  const volumeOf = (name: string): Locator =>
    on.page.getByRole('slider', { name: `Volume of ${name}`, exact: true });
  const stream = (): Locator => on.page.locator('.stream').filter({ hasText: 'mpv' });
  const mpv = (property: string): Promise<unknown> => askMpv(on.mpvSocket, 'get_property', property);
  const follows = (percent: number): Promise<unknown> =>
    until(`the volume is ${percent} %`, async () => {
      // PipeWire 1.4 sends no change of an output that has not been awake since the server began; this may be too short to wake it.
      await on.node.user('timeout', '0.3', 'parec', '-d', 'living.monitor');
      await pactl('set-sink-volume', 'living', `${percent}%`);
      const isShown = async () => (await volumeOf('Living').inputValue()) === `${percent}`;
      return until('the volume is shown', isShown, SEEN_MS);
    });

  if (sound === 'pulseaudio') before(() => exchange(on));

  test('the player has title, cover, pause and play, next, and a level', async () => {
    const player = on.page.locator('.player');
    const level = (): Promise<number> =>
      on.page
        .getByRole('meter', { name: 'Level of Living' })
        .evaluate((meter: { value: number }) => meter.value);
    await player.getByText(TITLES[0], { exact: true }).waitFor();
    await player.getByText('Sinus – Tones').waitFor();
    const cover = player.locator('.cover img');
    await until('the cover is loaded', () =>
      cover.evaluate((image: { naturalWidth: number }) => image.naturalWidth === 1),
    );
    // WirePlumber starts a new output so quiet that its level is shown as nothing.
    await pactl('set-sink-volume', 'living', '50%');
    await until('mpv plays on', async () => Number(await mpv('time-pos')) > 1);
    await until('the level is above 0', async () => {
      assert.ok((await level()) > 0.01, await pactl('list', 'short', 'sink-inputs'));
      return true;
    });
    await on.button('Pause').click();
    await until('mpv pauses', async () => (await mpv('pause')) === true);
    await until('the level is 0', async () => (await level()) === 0);
    await stream().getByText('Paused').waitFor();
    await on.button('Play').press('Enter');
    await until('mpv plays', async () => (await mpv('pause')) === false);
    await on.button('Next').click();
    await until('mpv plays the second track', async () => (await mpv('media-title')) === TITLES[1]);
    await player.getByText(TITLES[1], { exact: true }).waitFor();
    await on.button('Previous').press('Space');
    await player.getByText(TITLES[0], { exact: true }).waitFor();
    assert.equal(await mpv('media-title'), TITLES[0]);
    const position = player.getByRole('slider', { name: `Position in ${TITLES[0]}` });
    const box = (await position.boundingBox()) ?? assert.fail('no slider');
    await position.click({ position: { x: box.width / 2, y: box.height / 2 } });
    await until('mpv is half-way', async () => Math.abs(Number(await mpv('percent-pos')) - 50) < 10);
    await position.press('Home');
    await until('mpv begins again', async () => Number(await mpv('percent-pos')) < 10);
  });

  test('while the sound server stays away the page shows that in its place, and everything else works', async () => {
    await on.systemctl('stop', ...SERVICES[sound]);
    const outputs = on.page.locator('#outputs');
    await outputs.getByText('Not connected, trying again').waitFor();
    assert.equal(await outputs.getByRole('slider').count(), 0);
    await on.page.getByText('Connected', { exact: true }).waitFor();
    await on.button('Start Radio').click();
    await on.button('Stop Radio').click();
    await until(
      'radio.service',
      async () => (await on.property('radio.service', 'ActiveState')) === 'inactive',
    );
    await on.systemctl('start', ...SERVICES[sound]);
    await volumeOf('Living').waitFor();
    await follows(42);
  });
}

/** PulseAudio instead of PipeWire, for good. */
async function exchange(on: PageOnNode): Promise<void> {
  const pipewire = ['pipewire.socket', 'pipewire-pulse.socket', 'wireplumber.service'];
  const pulseaudio = SERVICES.pulseaudio;
  await shell(
    on.node,
    `systemctl --quiet --global disable ${pipewire.join(' ')}; systemctl --quiet --global enable ${pulseaudio.join(' ')}`,
  );
  await on.systemctl('stop', ...pipewire, 'pipewire-pulse.service', 'pipewire.service');
  await on.page.locator('#outputs').getByText('Not connected, trying again').waitFor();
  await on.systemctl('start', ...pulseaudio);
  await on.page.getByRole('slider', { name: 'Volume of Living' }).waitFor();
  await on.systemctl('restart', 'player.service');
}
