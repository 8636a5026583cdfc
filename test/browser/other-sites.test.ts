// Tests pages of sites other than the node's, in Chromium. The first page is examples/volumes.html. It uses
// the built client. The test adds an EventSource to this page, cuts its connections, restarts the daemon, and
// takes the network away for a time. The second page shows the node's page in a frame.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import { startAudio } from '../contract/audio-node.js';
import { exampleFile, PROJECT } from '../contract/documented.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { openChromium } from './chromium.js';
import { NodeWithPage } from './node-with-page.js';
import { startProxy } from './severable-proxy.js';

/** The client reconnects within 5 s; on a busy machine it may need a second attempt. */
const RETURN_MAX_MS = 30_000;

/**
 * Starts a web site on loopback. Its origin differs from the node's. `answer` returns the content for a path:
 * a script if the path ends with .js, else a document.
 */
async function serveSite(answer: (path: string) => string) {
  const server = createServer(({ url = '/' }, response) => {
    response.setHeader('Content-Type', url.endsWith('.js') ? 'text/javascript' : 'text/html');
    response.end(answer(url));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

/** Resolves with the page's status, and with each slider as `title volume`. */
function displayed(page: Page): Promise<readonly string[]> {
  return page.evaluate(`[
    document.querySelector('#status').textContent,
    ...[...document.querySelectorAll('input')].map(({ title, value }) => title + ' ' + value),
  ]`);
}

/**
 * Begins to count how often the page shows `lost`, even for a very short time. The returned function reads
 * the count.
 */
async function countLosses(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(`{
    const status = document.querySelector('#status');
    window.losses = 0;
    new MutationObserver(() => { if (status.textContent === 'lost') window.losses += 1; }).observe(status, { childList: true });
  }`);
  return () => page.evaluate('window.losses');
}

/** A script whose EventSource adds the volumes of the kitchen to `volumes`. */
const listenTo = (url: string): string => `
  window.volumes = [];
  new EventSource('${url}').addEventListener('audio.output.updated', ({ data }) => {
    for (const { name, volume } of JSON.parse(data)) if (name === 'kitchen') window.volumes.push(volume);
  });`;

const skip = skipReason({ programs: ['chromium', 'pulseaudio', 'pactl'] });

test('examples/volumes.html in Chromium is live, reconnects after every loss, and sets volumes', {
  skip,
}, async (t) => {
  // The browser requests the document only after `proxy`, below, has started.
  const site = await serveSite((path) =>
    path === '/client.js'
      ? readFileSync(join(PROJECT, 'dist-client/client.js'), 'utf8')
      : exampleFile('volumes.html').replace('http://node.local:8018', `http://127.0.0.1:${proxy.port}`),
  );
  const api = `cors: {origins: ['${site.origin}']}`;
  const { sound, daemon } = await startAudio(t, { api });
  const proxy = await startProxy(daemon.port);
  const browser = await openChromium();
  t.after(async () => {
    await browser.close();
    await proxy.close();
    site.close();
  });
  const page = await browser.context.newPage();
  await page.goto(site.origin);

  const untilPageDisplays = (...expected: readonly string[]) =>
    until(
      `the page displays ${expected.join()}`,
      async () => {
        assert.deepEqual(await displayed(page), expected);
        return true;
      },
      RETURN_MAX_MS,
    );
  const setKitchen = (percent: number) => sound.pactl('set-sink-volume', 'kitchen', `${percent}%`);
  await untilPageDisplays('live', 'Living room 1', 'Kitchen 1');
  await page.evaluate(listenTo(`http://127.0.0.1:${proxy.port}/events?snapshot=1`));
  const untilEventSourceHas = (...volumes: readonly number[]) =>
    until(`the EventSource has ${volumes.join()}`, async () =>
      isDeepStrictEqual(await page.evaluate('window.volumes'), volumes),
    );
  await untilEventSourceHas(1);
  await setKitchen(30);
  await untilPageDisplays('live', 'Living room 1', 'Kitchen 0.3');
  await untilEventSourceHas(1, 0.3);

  await page.evaluate(`{
    const [slider] = document.querySelectorAll('input');
    slider.value = 0.4;
    slider.dispatchEvent(new Event('change'));
  }`);
  await until('the sound server has the volume', async () => {
    const living = (await sound.sinks()).find(({ name }) => name === 'living');
    return living?.volume['front-left']?.value_percent === '40%';
  });

  const lossCount = await countLosses(page);
  proxy.sever();
  await setKitchen(50);
  await untilPageDisplays('live', 'Living room 0.4', 'Kitchen 0.5');
  assert.ok((await lossCount()) >= 1);
  // The EventSource gets the volume that it missed, and gets it exactly once.
  await untilEventSourceHas(1, 0.3, 0.5);

  await daemon.restart();
  await setKitchen(60);
  await untilPageDisplays('live', 'Living room 0.4', 'Kitchen 0.6');
  assert.ok((await lossCount()) >= 2);

  await browser.context.setOffline(true);
  await untilPageDisplays('lost', 'Living room 0.4', 'Kitchen 0.6');
  await setKitchen(70);
  await browser.context.setOffline(false);
  await untilPageDisplays('live', 'Living room 0.4', 'Kitchen 0.7');
});

test('the page of a node works in a frame of a site that api.cors.origins names', { skip }, async (t) => {
  const site = await serveSite((path) => {
    const [, frameUrl] = path.split('?');
    return `<!doctype html><iframe src="${frameUrl}"></iframe>`;
  });
  const node = new NodeWithPage({ cors: { origins: [site.origin] } }).up();
  const browser = await openChromium({ locale: 'en-GB' });
  t.after(async () => {
    await browser.close();
    site.close();
    await node.close();
  });
  const page = await browser.context.newPage();
  await page.goto(`${site.origin}/?${node.url}`);
  const frame = page.frameLocator('iframe');
  await frame.getByText('Connected', { exact: true }).waitFor();
  const isMuteRequested = (): boolean => node.backends.requests.some(({ command }) => command.do === 'mute');
  await until('the node gets the command', async () => {
    // On a very busy machine Chromium may not deliver the first click to the frame.
    await frame.getByRole('button', { name: 'Mute the sound on Living room' }).click();
    return until('the click is handled', isMuteRequested, 3000);
  });
});
