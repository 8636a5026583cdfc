// Chromium opens the page behind the reverse proxies of docs/security.md. The proxies are real, and serve
// https. The page loads, and the event stream arrives without delay. With `control: local` the buttons of
// the page work, because the proxy is a program on the node. All this is true below a path of the proxy,
// too.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type OpenBrowser, openChromium } from '../browser/chromium.js';
import { startProgram } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { freePort } from '../tools/free-port.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { audioForAll } from './audio-node.js';
import { documentedBlock, documentedBlocks } from './documented.js';

/**
 * Chromium resolves every name below localhost to this machine. The node answers to this name only because
 * of its key `hosts`.
 */
const NAME = 'music.localhost';
const PROXY_PATH = '/kitchen/';
const PAGE = 'docs/security.md';

const [SERVER = '', LOCATION = ''] = documentedBlocks(PAGE, 'nginx');

interface Proxy {
  readonly programs: readonly string[];
  /**
   * The lines of docs/security.md, "Behind a reverse proxy", with the addition that the same section
   * describes for a node below a path. This path is `PROXY_PATH`.
   */
  readonly lines: string;
  /** The whole configuration around these lines, for a port and a folder. */
  readonly wholeConfig: (lines: string, port: number, folder: string) => string;
  readonly commandFor: (file: string) => readonly [program: string, ...args: string[]];
}

const PROXIES: Readonly<Record<string, Proxy>> = {
  nginx: {
    programs: ['nginx', 'openssl'],
    // The documented location for a path goes to the end of the documented server.
    lines: SERVER.replace(/\}\n$/, `${LOCATION}}\n`),
    wholeConfig: (lines, port, folder) => {
      const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = folders.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ');
      return `daemon off; master_process off; pid ${folder}/pid; error_log stderr; events {}
http { access_log off; ${temporary}
${lines.replace('listen 443', `listen 127.0.0.1:${port}`).replaceAll('/etc/ssl', folder)}}`;
    },
    commandFor: (file) => ['nginx', '-c', file],
  },
  caddy: {
    programs: ['caddy'],
    // The documented directive stays for the root, and is repeated for the path.
    lines: documentedBlock(PAGE, 'caddy').replace(
      / +reverse_proxy.*/,
      (directive) => `${directive}\n handle_path ${PROXY_PATH}* {\n${directive}\n}`,
    ),
    wholeConfig: (lines, port) => `{
  admin off
  auto_https disable_redirects
  skip_install_trust
  default_bind 127.0.0.1
  servers {
    protocols h1 h2
  }
}
${lines.replace(NAME, `${NAME}:${port}`)}`,
    commandFor: (file) => ['caddy', 'run', '--config', file, '--adapter', 'caddyfile'],
  },
  haproxy: {
    programs: ['haproxy', 'openssl'],
    lines: `${documentedBlock(PAGE, 'haproxy')}  http-request replace-path ${PROXY_PATH}(.*) /\\1\n`,
    // The timeouts are those of Debian's configuration. `log-health-checks` is for the test of these checks.
    wholeConfig: (lines, port, folder) => `global
  log stdout format raw local0 info
defaults
  log global
  mode http
  option log-health-checks
  timeout connect 5000
  timeout client 50000
  timeout server 50000
${lines.replace('bind :443', `bind 127.0.0.1:${port}`).replaceAll('/etc/ssl', folder)}`,
    commandFor: (file) => ['haproxy', '-db', '-f', file],
  },
};

function writeCertificate(folder: string): void {
  const files = ['-keyout', join(folder, 'music.key'), '-out', join(folder, 'music.pem')];
  const subject = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`];
  const kind = ['-x509', '-newkey', 'rsa:2048', '-nodes'];
  execFileSync('openssl', ['req', ...kind, ...files, ...subject], { stdio: 'pipe' });
  // HAProxy reads certificate and key from one file.
  appendFileSync(join(folder, 'music.pem'), readFileSync(join(folder, 'music.key')));
}

async function startProxy({ programs, lines, wholeConfig, commandFor }: Proxy, nodePort: number) {
  const folder = temporaryFolder();
  const port = await freePort();
  if (programs.includes('openssl')) writeCertificate(folder);
  const localLines = lines.replaceAll('music.example.org', NAME).replaceAll(':8018', `:${nodePort}`);
  const file = join(folder, 'config');
  writeFileSync(file, wholeConfig(localLines, port, folder));
  const [program, ...args] = commandFor(file);
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const env = { PATH: process.env['PATH'] ?? '', ...home };
  const log = join(folder, 'log');
  const { end } = startProgram(program, args, { env, log });
  return { origin: `https://${NAME}:${port}`, log, end };
}

for (const [name, proxy] of Object.entries(PROXIES)) {
  const skip = skipReason({ programs: ['chromium', 'pulseaudio', 'pactl', ...proxy.programs] });
  describe(`behind ${name}`, { skip }, () => {
    const audible = audioForAll({ api: `hosts: [${NAME}], control: local` });
    let browser: OpenBrowser;
    let runningProxy: Awaited<ReturnType<typeof startProxy>>;
    before(async () => {
      runningProxy = await startProxy(proxy, audible.daemon.port);
      browser = await openChromium({ locale: 'en-GB', ignoreHTTPSErrors: true });
    });
    after(async () => {
      await browser.close();
      await runningProxy.end();
    });

    async function open(path: string): Promise<Page> {
      const page = await browser.context.newPage();
      await until('the proxy answers', () => page.goto(`${runningProxy.origin}${path}`));
      await page.getByText('Connected', { exact: true }).waitFor();
      return page;
    }

    if (name === 'haproxy') {
      test('the health check finds the node up', async () => {
        const passed = /Health check for server node\/node succeeded.*code: 200/;
        await until('the check has passed', () => passed.test(readFileSync(runningProxy.log, 'utf8')));
      });
    }

    for (const path of ['/', PROXY_PATH]) {
      test(`at ${path} the page displays late sections and changed volumes, and a button works`, async () => {
        const { sound } = audible;
        const page = await open(path);
        assert.equal(page.url(), `${runningProxy.origin}${path}ui`);
        // The page imports the section `system` later (`NODE_TAB` of page/sections.tsx).
        await page.locator('#system .card').first().waitFor();
        for (const percent of [30, 50]) {
          await sound.pactl('set-sink-volume', 'kitchen', `${percent}%`);
          const slider = page.getByRole('slider', { name: 'Volume of Kitchen', exact: true });
          await until('the page shows the volume', async () => (await slider.inputValue()) === `${percent}`);
        }
        // The button toggles, and the test of the other path may have used it.
        const wasMuted = (await sound.sinks()).find((sink) => sink.name === 'living')?.mute;
        await page.getByRole('button', { name: 'Mute Living room' }).click();
        await until('the sound server has the change', async () =>
          (await sound.sinks()).some((sink) => sink.name === 'living' && sink.mute !== wasMuted),
        );
        await page.close();
      });

      test(`at ${path} a name that contains a slash reaches the node as one name`, async () => {
        const page = await open(path);
        const answer = await page.evaluate(async () => {
          const response = await fetch('audio/outputs/a%2Fb/mute', { method: 'POST' });
          return response.text();
        });
        // If the proxy decoded `%2F`, the node would find no such route.
        assert.equal(JSON.parse(answer).type, 'urn:tonearm:problem:no-such-output');
        await page.close();
      });
    }
  });
}
