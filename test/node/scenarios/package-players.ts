// Media players of pi's session: tonearm-setup shows them, and mpv plays on the real sound server.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { PlayerRecord } from '../../../src/protocol/actor/schemas.js';
import { COVER, writeTone } from '../../players/tones.js';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { ask, read } from './client.js';
import { property, shell, systemctl } from './commands.js';
import { CONFIG, setUpPi } from './package-shell.js';

const MPV = 'org.mpris.MediaPlayer2.mpv';
const MUSIC = '/home/pi/Music';
const TITLE = 'Sinus';
const SECONDS = 120;

const UNIT = `[Service]
ExecStart=/usr/bin/mpv --no-video --no-terminal --ao=pulse --loop-file ${MUSIC}/sinus.wav
`;

async function bringMusic(node: Node): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tonearm-music-'));
  try {
    writeTone(join(folder, 'sinus.wav'), { title: TITLE, artist: 'A', album: 'B', seconds: SECONDS });
    writeFileSync(join(folder, 'cover.png'), COVER);
    await node.install(folder, MUSIC);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const settled = (
  node: Node,
  what: string,
  condition: (player: PlayerRecord) => boolean,
): Promise<PlayerRecord> =>
  until(`mpv is ${what}`, async () => {
    const players = await read<readonly PlayerRecord[]>(node, '/players');
    return players.find((player) => player.bus_name === MPV && condition(player));
  });

const mainPid = async (node: Node): Promise<number> =>
  Number(await property(node, 'MainPID', 'player.service'));

/** Until it has opened the file, its title is the file's name. */
const plays = ({ playback_status, metadata }: PlayerRecord): boolean =>
  playback_status === 'Playing' && metadata?.['xesam:title'] === TITLE;

export function playersScenarios(node: () => Node): void {
  after(async () => {
    await systemctl(node(), 'stop', 'player.service');
    await shell(node(), `rm -r ${MUSIC} /home/pi/.config/systemd/user/player.service`);
    await systemctl(node(), 'daemon-reload');
  });

  test('tonearm-setup --players shows players, and a later run keeps that', async () => {
    assert.equal((await ask(node(), 'GET', '/players')).status, 404);
    await setUpPi(node(), '--players');
    assert.deepEqual(await until('the players', () => read(node(), '/players')), []);
    await setUpPi(node(), '--bind', 'lo');
    assert.match(await shell(node(), `cat ${CONFIG}/conf.d/50-setup.yaml`), /^players: \{enabled: true\}$/m);
    assert.deepEqual(await until('the players', () => read(node(), '/players')), []);
  });

  test('a player of the session is shown, its cover served, and its stream corked by a command', async () => {
    await bringMusic(node());
    await node().writeUnit('user', 'player.service', UNIT);
    await systemctl(node(), 'start', 'player.service');
    const player = await settled(node(), 'playing', plays);
    assert.equal(player.pid, await mainPid(node()));
    const pids = async (): Promise<readonly (string | undefined)[]> => {
      const clients = await read<readonly { props?: Record<string, string> }[]>(node(), '/audio/clients');
      return clients.map(({ props }) => props?.['application.process.id']);
    };
    await until('the stream of the player is shown', async () => (await pids()).includes(String(player.pid)));
    assert.equal((await ask(node(), 'GET', '/players/mpv/cover')).status, 200);
    assert.equal((await ask(node(), 'POST', '/players/mpv/pause')).status, 202);
    await settled(node(), 'paused', ({ playback_status }) => playback_status === 'Paused');
    await until('the stream of the player is corked', async () => {
      const listed = await node().user('pactl', 'list', 'sink-inputs');
      return listed.stdout.includes('Corked: yes');
    });
  });
}
