// The picture of the page in README.md, taken of what `npm start` runs where there is no sound server, so that it stays true:
//
//   node packaging/picture.mjs      as root, in whose hands the machine's name is: the picture's node has one of its own

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PICTURE = join(ROOT, 'packaging/page.png');
const NAME = 'living-room';
const SIZE = { width: 1200, height: 830 };
/** Full ones everywhere show little of a slider. */
const VOLUMES = [
  ['Volume of Living room', '42'],
  ['Volume of Kitchen', '65'],
  ['Volume of Morning show', '80'],
];
const START_DEADLINE_MS = 60_000;
const CHROMIUM = { executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] };

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function answers(url, child) {
  const end = Date.now() + START_DEADLINE_MS;
  while (Date.now() < end && child.exitCode === null) {
    const isUp = await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await delay(100);
  }
  throw new Error(`nothing answers at ${url}`);
}

/** A meter has moved up: what plays swells once a second. */
async function sounding(page) {
  const end = Date.now() + START_DEADLINE_MS;
  while (Date.now() < end) {
    if (await page.evaluate("[...document.querySelectorAll('meter')].some(({ value }) => value > 0.02)"))
      return;
    await delay(10);
  }
  throw new Error('no meter moves');
}

async function take(url) {
  const browser = await chromium.launch(CHROMIUM);
  try {
    const page = await browser.newPage({ viewport: SIZE, locale: 'en-GB', colorScheme: 'light' });
    await page.goto(url);
    await page.locator('.stream').nth(1).waitFor();
    await page.locator('.player').waitFor();
    for (const [name, percent] of VOLUMES)
      await page.getByRole('slider', { name, exact: true }).fill(percent);
    await page.locator('#system .health').waitFor();
    await page.evaluate('document.activeElement.blur(); scrollTo(0, 0)');
    await sounding(page);
    // The bars move within this time.
    await delay(150);
    await page.screenshot({ path: PICTURE });
  } finally {
    await browser.close();
  }
}

const directory = mkdtempSync(join(tmpdir(), 'tonearm-picture-'));
const config = join(directory, 'config.yaml');
const port = await freePort();
// A checkout has no systemd units of a node, but it has players.
writeFileSync(config, `api: {port: ${port}}\nsystemd: {enabled: false}\nplayers: {enabled: true}\n`);
const named = 'hostname "$1" && shift && exec "$@"';
const start = [process.execPath, join(ROOT, 'packaging/start.mjs'), '--config', config];
const child = spawn('unshare', ['--uts', 'sh', '-c', named, 'sh', NAME, ...start], { stdio: 'ignore' });
try {
  await answers(`http://127.0.0.1:${port}/server`, child);
  await take(`http://127.0.0.1:${port}/ui`);
} finally {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
  rmSync(directory, { recursive: true, force: true });
}
console.log(`${PICTURE} was written; pngquant makes it smaller`);
