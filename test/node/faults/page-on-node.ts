// Opens the page of the installed node in a Chromium of this machine. The page stays open while the node is
// restarted or broken. For this page the node has two outputs, a media player with a cover, a unit of each
// scope, and the example of an upgrade.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type OpenBrowser, openChromium } from '../../browser/chromium.js';
import { COVER, writeTone } from '../../players/tones.js';
import { remark } from '../../remark.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import type { Node } from '../node.js';

const MUSIC = '/home/pi/Music';
/** The player's list has the titles in this order. */
const TITLES = ['First', 'Second'] as const;
const TRACK_SECONDS = 300;

/** Each sound server makes these outputs when it starts. */
const SINKS = ['Living', 'Kitchen'].map(
  (name) => `module-null-sink sink_name=${name.toLowerCase()} sink_properties=device.description=${name}`,
);
const PULSEAUDIO_SINKS = SINKS.map((line) => `load-module ${line}\n`).join('');
const PIPEWIRE_COMMANDS = SINKS.map((line) => `{ cmd = "load-module" args = "${line}" flags = [ ] }`);
const PIPEWIRE_SINKS = `pulse.cmd = [ ${PIPEWIRE_COMMANDS.join(' ')} ]\n`;

const PLAYLIST = TITLES.map((title) => `${MUSIC}/${title}.wav`).join(' ');
const PLAYER_UNIT = `[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/usr/bin/mpv --no-video --no-terminal --idle --ao=pulse --input-ipc-server=%t/mpv.socket --loop-playlist ${PLAYLIST}
Restart=always
RestartSec=100ms
[Install]
WantedBy=default.target
`;
const MPRIS_NAME = 'org.mpris.MediaPlayer2.mpv';
const PLAYER_ANSWERS = `timeout 10 busctl --user get-property ${MPRIS_NAME} /org/mpris/MediaPlayer2 org.mpris.MediaPlayer2.Player PlaybackStatus > /dev/null 2>&1`;
/** Succeeds if mpv is not on the bus, or answers one of two requests there. */
const PLAYER_IS_WELL = `! busctl --user --acquired --no-legend list | grep -q '^${MPRIS_NAME} ' || ${PLAYER_ANSWERS} || ${PLAYER_ANSWERS}`;
const PLAYER_COMES = `timeout 30 sh -c 'until ${PLAYER_ANSWERS}; do sleep 0.2; done'`;
/** A unit that does nothing but run, and that may be started any number of times. */
const sleeper = (description: string): string =>
  `[Unit]\nDescription=${description}\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=default.target\n`;

export class PageOnNode {
  /** Errors of the page, and its requests to other addresses. The list must stay empty. */
  readonly pageErrors: string[] = [];
  readonly #node: () => Node;
  #browser: OpenBrowser | undefined;
  #page: Page | undefined;

  constructor(node: () => Node) {
    this.#node = node;
  }

  get node(): Node {
    return this.#node();
  }

  /** The page that is open all the time. */
  get page(): Page {
    return this.#page ?? assert.fail('the page is not open');
  }

  /** Brings music, outputs, units and the package to the node, and starts the service. */
  async install(): Promise<void> {
    const { node } = this;
    await this.#bringMusic();
    await node.writeFile('/etc/pulse/default.pa.d/page.pa', PULSEAUDIO_SINKS);
    await node.writeFile('/etc/pipewire/pipewire-pulse.conf.d/page.conf', PIPEWIRE_SINKS);
    await node.systemctl('try-restart', 'pipewire-pulse.service', 'pulseaudio.service');
    await node.writeUnit('user', 'player.service', PLAYER_UNIT);
    await node.writeUnit('user', 'radio.service', sleeper('Radio'));
    await node.writeUnit('system', 'lamp.service', sleeper('Lamp'));
    await node.shell('systemctl start lamp.service');
    await node.systemctl('enable', '--now', 'player.service');
    await node.unpackPlain();
    const units = ['--unit', 'radio.service', '--system-unit', 'lamp.service'];
    await node.setUpPi(...units, '--players', '--with-upgrade');
    await this.untilPlayerAnswers();
  }

  /**
   * Restarts mpv if it is on the bus and does not answer, because nobody can find out its true state then.
   * Resolves with true after a restart.
   */
  restartHungPlayer(): Promise<boolean> {
    return this.#killPlayerUnless(PLAYER_IS_WELL);
  }

  /** Resolves when the player answers on the bus. */
  async untilPlayerAnswers(): Promise<void> {
    await until('the player is on the bus', async () => {
      const wasKilled = await this.#killPlayerUnless(PLAYER_COMES);
      return !wasKilled;
    });
  }

  /**
   * Kills the player if `check` fails, and resolves with true after that. systemd starts the player again.
   * One of thirty mpv hangs as it begins.
   */
  async #killPlayerUnless(check: string): Promise<boolean> {
    const kill = 'systemctl --user kill -s KILL player.service';
    const output = await this.node.userShell(`${check} || { ${kill}; echo killed; }`);
    if (output !== '') remark('mpv answers nobody on the bus, and has been started anew');
    return output !== '';
  }

  async #bringMusic(): Promise<void> {
    const folder = temporaryFolder();
    for (const title of TITLES) {
      const tags = { title, artist: 'Sinus', album: 'Tones', seconds: TRACK_SECONDS };
      writeTone(join(folder, `${title}.wav`), tags);
    }
    writeFileSync(join(folder, 'cover.png'), COVER);
    await this.node.install(folder, MUSIC);
  }

  async open(): Promise<void> {
    this.#browser = await openChromium({ locale: 'en-GB', viewport: { width: 1280, height: 900 } });
    const address = `http://127.0.0.1:${await this.node.door()}/`;
    this.#browser.context.on('request', (request) => {
      if (!request.url().startsWith(address)) this.pageErrors.push(request.url());
    });
    this.#page = await this.#browser.context.newPage();
    this.page.on('pageerror', (error) => this.pageErrors.push(error.message));
    await this.page.goto(address);
    await this.page.locator('#system .health').waitFor();
    // A reload would remove this mark. The last test of faults.test.ts reads it.
    await this.page.evaluate('window.sameDocument = true');
  }

  async close(): Promise<void> {
    await this.#browser?.close();
  }
}
