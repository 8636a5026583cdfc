// The page and the node's sound: outputs, the player and its stream are set by clicking, dragging and the keyboard, read by pactl and on
// mpv's own socket; changes by others are shown; a sound server that dies is shown as away, in place, until it is back.

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { askMpv } from '../../players/mpv.js';
import { type Listed, percents } from '../../sound/pactl.js';
import { until } from '../../until.js';
import { shell } from './commands.js';
import { type PageOnNode, TITLES } from './page-on-node.js';

const SERVICES = {
  pulseaudio: { server: 'pulseaudio.service', units: ['pulseaudio.socket', 'pulseaudio.service'] },
  pipewire: {
    server: 'pipewire-pulse.service',
    units: ['pipewire-pulse.socket', 'pipewire-pulse.service'],
  },
} as const;

type Sound = keyof typeof SERVICES;

/** Then what was done is done again. Each look at the node takes some tenths of a second. */
const SEEN_MS = 3000;

/** The user's sound server as pactl sees it. */
class Pactl {
  readonly #on: PageOnNode;

  constructor(on: PageOnNode) {
    this.#on = on;
  }

  async run(...args: readonly string[]): Promise<string> {
    const ran = await this.#on.node.user('pactl', ...args);
    assert.equal(ran.status, 0, ran.stderr);
    return ran.stdout.trim();
  }

  async list(what: 'sinks' | 'sink-inputs'): Promise<readonly Listed[]> {
    return JSON.parse(await this.run('--format=json', 'list', what)) as readonly Listed[];
  }

  sinkIs(what: string, name: string, is: (sink: Listed) => boolean): Promise<unknown> {
    return until(`${name} is ${what}`, async () =>
      (await this.list('sinks')).some((sink) => sink.name === name && is(sink)),
    );
  }

  /** The only stream is the player's. */
  streamIs(what: string, is: (input: Listed) => boolean): Promise<unknown> {
    return until(`the stream is ${what}`, async () => (await this.list('sink-inputs')).some(is));
  }

  /** Repeats `move` until the stream is on that output: PipeWire 0.3.65 accepts a move and now and then forgets it. */
  streamMoves(name: string, move: () => Promise<unknown>): Promise<unknown> {
    const isOn = async (): Promise<boolean> => {
      const sink = (await this.list('sinks')).find((each) => each.name === name);
      return (await this.list('sink-inputs')).some((input) => input.sink === sink?.index);
    };
    return until(`the stream is on ${name}`, async () => {
      await move();
      return until('the move is seen', isOn, SEEN_MS);
    });
  }
}

export function pageSoundScenarios(on: PageOnNode, sound: Sound): void {
  const { server, units } = SERVICES[sound];
  const pactl = new Pactl(on);
  const volumeOf = (name: string, page: Page = on.page): Locator =>
    page.getByRole('slider', { name: `Volume of ${name}`, exact: true });
  const stream = (): Locator => on.page.locator('.stream').filter({ hasText: 'mpv' });
  const mpv = (property: string): Promise<unknown> => askMpv(on.mpvSocket, 'get_property', property);
  const follows = (percent: number, page: Page = on.page): Promise<unknown> =>
    until(`the volume is ${percent} %`, async () => {
      // PipeWire 1.4 sends no change of an output that has not been awake since the server began; this may be too short to wake it.
      await on.node.user('timeout', '0.3', 'parec', '-d', 'living.monitor');
      await pactl.run('set-sink-volume', 'living', `${percent}%`);
      const isShown = async () => (await volumeOf('Living', page).inputValue()) === `${percent}`;
      return until('the volume is shown', isShown, SEEN_MS);
    });

  if (sound === 'pulseaudio') before(() => exchange(on));

  test('an output has volume, mute, balance and default', async () => {
    const volume = volumeOf('Living');
    const box = (await volume.boundingBox()) ?? assert.fail('no slider');
    await volume.click({ position: { x: box.width / 2, y: box.height / 2 } });
    await pactl.sinkIs('at 50 %', 'living', (sink) => percents(sink).every((each) => each === 50));
    await volume.press('ArrowRight');
    await pactl.sinkIs('at 51 %', 'living', (sink) => percents(sink).every((each) => each === 51));
    for (const isMuted of [true, false]) {
      const mute = on.button('Mute Living');
      await (isMuted ? mute.click() : mute.press('Space'));
      await pactl.sinkIs(`muted: ${isMuted}`, 'living', ({ mute: is }) => is === isMuted);
    }
    await on.page.getByLabel('More of Living').press('Enter');
    const balance = on.page.getByRole('slider', { name: 'Balance of Living' });
    await balance.press('Home');
    await pactl.sinkIs('left only', 'living', (sink) => percents(sink)[1] === 0);
    const middle = (await balance.boundingBox()) ?? assert.fail('no slider');
    await balance.click({ position: { x: middle.width / 2, y: middle.height / 2 } });
    await pactl.sinkIs('balanced', 'living', (sink) => percents(sink)[0] === percents(sink)[1]);
    await on.page.getByLabel('More of Living').click();
    await on.button('Make default: Kitchen').click();
    await until(
      'the kitchen is the default',
      async () => (await pactl.run('get-default-sink')) === 'kitchen',
    );
    await on.button('Make default: Living').press('Enter');
    await until(
      'the living room is the default',
      async () => (await pactl.run('get-default-sink')) === 'living',
    );
  });

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
    await until('the level is above 0', async () => (await level()) > 0.01);
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

  test('the stream has volume and mute, and is moved by the menu, by its keys and by dragging', async () => {
    const volume = stream().getByRole('slider');
    await volume.press('Home');
    await volume.press('PageUp');
    const shown = Number(await volume.inputValue());
    await pactl.streamIs(`at ${shown} %`, (input) => percents(input)[0] === shown);
    await stream().getByRole('button', { name: /^Mute/ }).click();
    await pactl.streamIs('muted', ({ mute }) => mute);
    await stream().getByRole('button', { name: /^Mute/ }).press('Enter');
    await pactl.streamIs('not muted', ({ mute }) => !mute);
    const menu = stream().getByRole('combobox');
    await pactl.streamMoves('kitchen', () => menu.selectOption('kitchen'));
    await pactl.streamMoves('living', async () => {
      await menu.focus();
      await on.page.keyboard.type('Liv');
    });
    await until('the page shows the move', async () => (await menu.inputValue()) === 'living');
    await pactl.streamMoves('kitchen', async () => {
      await stream().locator('.drag-handle').hover();
      await on.page.mouse.down();
      const handle = (await stream().locator('.drag-handle').boundingBox()) ?? assert.fail('no handle');
      await on.page.mouse.move(handle.x + 40, handle.y + 60, { steps: 4 });
      await on.page.locator('.tray-output').filter({ hasText: 'Kitchen' }).hover();
      await on.page.mouse.up();
    });
    await pactl.streamMoves('living', () => menu.selectOption('living'));
  });

  test('a second page shows changes of the first, and the first those of the second', async () => {
    const second = await on.another();
    for (const page of [on.page, second]) await follows(page === second ? 37 : 38, page);
    await volumeOf('Living', second).press('Home');
    await until(
      'the first page shows the change',
      async () => (await volumeOf('Living').inputValue()) === '0',
    );
    await second.close();
  });

  test('after a restart of the sound server the page shows the state again', async () => {
    const before = await on.property(server, 'MainPID');
    await on.systemctl('kill', '--signal=KILL', server);
    await until(
      'the sound server has another process',
      async () => !['0', before].includes(await on.property(server, 'MainPID')),
    );
    await volumeOf('Living').waitFor();
    await follows(41);
  });

  test('while the sound server stays away the page shows that in its place, and everything else works', async () => {
    await on.systemctl('stop', ...units);
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
    await on.systemctl('start', ...units);
    await volumeOf('Living').waitFor();
    await follows(42);
  });
}

/** PulseAudio instead of PipeWire, for good. */
async function exchange(on: PageOnNode): Promise<void> {
  const pipewire = ['pipewire.socket', 'pipewire-pulse.socket', 'wireplumber.service'];
  const pulseaudio = SERVICES.pulseaudio.units;
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
