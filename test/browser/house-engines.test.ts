// Tests the page with all rooms of a house, in Firefox and WebKit. The house has three built daemons. Each
// daemon has an address and a PulseAudio of its own, and its configuration names the other two. One daemon
// goes away and comes back.

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { AUDIO_ONLY, type Audio, startAudio } from '../contract/audio-node.js';
import type { Daemon, Ending } from '../contract/daemon.js';
import { startPulseAudio } from '../sound/servers.js';
import { startHttpsFront } from '../tools/https-front.js';
import { inOwnNetwork } from '../tools/own-network.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { ENGINES, openEngine } from './engines.js';
import { addressOf, makeHouse } from './house-of-nodes.js';
import { PHONE } from './pages.js';

/** Each daemon is in one room. It has one output, and the output has the room's name. */
const ROOMS = ['Living room', 'Kitchen', 'Attic'] as const;

type House = Readonly<Record<(typeof ROOMS)[number], Daemon>>;

async function startHouse(t: Ending): Promise<House> {
  const startRoom = async (room: string, index: number): Promise<Daemon> => {
    const sinks = [{ name: 'speakers', description: room }];
    const config = `bind: [lo, ${addressOf(index)}]\n${AUDIO_ONLY}`;
    const { daemon } = await startAudio(t, { startSound: () => startPulseAudio({ sinks }), config });
    return daemon;
  };
  const daemons = await Promise.all(ROOMS.map((room, index) => startRoom(room, index)));
  const urls = daemons.map(({ port }, index) => `http://${addressOf(index)}:${port}`);
  // The configurations get the ports only now, because `startAudio` chooses the port of each daemon.
  for (const [index, { directory }] of daemons.entries()) {
    const otherUrls = urls.filter((url) => url !== urls[index]);
    const discovery = `discovery: {enabled: true, nodes: ${JSON.stringify(otherUrls)}}\n`;
    appendFileSync(join(directory, 'config.yaml'), discovery);
  }
  await Promise.all(daemons.map((daemon) => daemon.restart()));
  const [living, kitchen, attic] = daemons as [Daemon, Daemon, Daemon];
  return { 'Living room': living, Kitchen: kitchen, Attic: attic };
}

inOwnNetwork(import.meta.url, () => {
  describe('the house of three daemons', { skip: skipReason({ programs: ['pulseaudio', 'pactl'] }) }, () => {
    let house: House;
    const cleanups: (() => Promise<void>)[] = [];
    before(async () => {
      makeHouse(ROOMS.length);
      house = await startHouse({ after: (cleanUp) => cleanups.push(cleanUp) });
    });
    after(() => Promise.all(cleanups.map((cleanUp) => cleanUp())));

    const untilMuteIs = async (daemon: Daemon, muted: boolean): Promise<unknown> =>
      until(`every output is ${muted ? 'muted' : 'not muted'}`, async () => {
        const { outputs } = await daemon.read<Audio>('/audio');
        return outputs.every((output) => output.muted === muted);
      });

    for (const engine of ENGINES)
      test(`the page of the house shows and controls each room in ${engine.name}, also a room that was away`, {
        skip: engine.skipReason(),
      }, async (t) => {
        const { page, close } = await openEngine(engine);
        t.after(close);
        await page.setSize(PHONE.viewport.width, PHONE.viewport.height);
        await page.goto(`http://${addressOf(0)}:${house['Living room'].port}/ui?view=house`);
        for (const room of ROOMS) await page.waitFor('slider', `Volume of ${room}`);
        await page.press('touch', 'button', 'Mute Kitchen');
        await untilMuteIs(house.Kitchen, true);
        await untilMuteIs(house.Attic, false);

        await house.Attic.end();
        await page.sees('Not there right now');
        await until(
          'the button Mute Attic cannot be used',
          async () => !(await page.has('button', 'Mute Attic')),
        );
        await page.press('pointer', 'button', 'Mute Living room');
        await untilMuteIs(house['Living room'], true);

        await house.Attic.resume();
        await page.press('keys', 'button', 'Mute Attic');
        await untilMuteIs(house.Attic, true);
        // All rooms are muted by now, so the same buttons unmute them.
        for (const room of ROOMS) {
          await page.press('pointer', 'button', `Mute ${room}`);
          await untilMuteIs(house[room], false);
        }
      });

    // This test is for WebKit only. Chromium lets a page that came by https speak to private addresses, and
    // Firefox's driver refuses the certificate of the test.
    for (const engine of ENGINES.filter(({ name }) => name === 'WebKit'))
      test(`a page that came by https says in ${engine.name} that other rooms can only be controlled on their own pages`, {
        skip: engine.skipReason() || skipReason({ programs: ['openssl'] }),
      }, async (t) => {
        const front = await startHttpsFront(addressOf(0), house['Living room'].port);
        t.after(front.close);
        const { page, close } = await openEngine(engine);
        t.after(close);
        await page.goto(`${front.origin}/ui?view=house`);
        await page.waitFor('slider', 'Volume of Living room');
        await page.sees('Can only be controlled on its own page');
        assert.ok(!(await page.text()).includes('Not there right now'));
      });
  });
});
