// Bad input of every other kind to one built daemon, while it serves: requests, MQTT commands, progress lines, and a sound server and a
// broker that lie. It answers all the time, does nothing that was not asked for, and is as it was in the end.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { type FuzzedNode, PROGRAMS, startFuzzedNode, TOPIC } from './fuzzed-node.js';
import { anyAttack, type Pieces, routesOf } from './http-attacks.js';
import { anyJson, damagedText } from './texts.js';

const CONNECTIONS = 1000;
const AT_ONCE = 40;
const COMMANDS = 150;
const LINES = 600;
const STORMS = 3;
/** Below the node's own: of things that are there, of such as are not, and of none. */
const TOPICS = [
  ...'power/set audio/server/set audio/outputs/living/set audio/clients/x/set upgrade/set'.split(' '),
  ...'services/user/player.service/set services/system/other.service/set players/one/set'.split(' '),
  ...'/set set audio/outputs//set audio/outputs/%2F/set audio/outputs/%/set audio/outputs/%00/set'.split(' '),
  ...'services/user/..%2Fx/set players/☕/set x/y/z/set'.split(' '),
];
const WORDS = ['reboo', 'poweroff ', 'REBOOT', 'start\0', '', 'x'.repeat(70_000)];
const PROGRESS = [
  '{"event":"begin","total":4}',
  '{"event":"progress","percent":10,"current":1,"step":"x"}',
  '{"event":"end","success":false}',
];

describe(`bad input (TONEARM_FUZZ_SEED=${SEED})`, { skip: lacks({ programs: PROGRAMS }) }, () => {
  let node: FuzzedNode;
  before(async () => {
    node = await startFuzzedNode(SEED);
  });
  after(() => node?.stop());

  /** One connection, from its first byte until the other side has closed; what it received. */
  async function attack(pieces: Pieces): Promise<string> {
    const connection = new RawConnection(node.survivor.daemon.port);
    for (const piece of pieces) {
      connection.write(Buffer.from(piece, 'latin1'));
      // The next piece comes in a packet of its own.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return connection.end().closed();
  }

  test('of requests', async () => {
    const random = new SeededRandom(SEED);
    const routes = routesOf(await node.survivor.daemon.read('/openapi.json'));
    for (let done = 0; done < CONNECTIONS; done += AT_ONCE) {
      const attacks = Array.from({ length: AT_ONCE }, () => anyAttack(routes, random));
      const answers = await Promise.all(attacks.map(attack));
      for (const [at, text] of answers.entries()) {
        const pieces = JSON.stringify(attacks[at]).slice(0, 3000);
        assert.ok(text === '' || /^HTTP\/1\.1 [1-5]\d\d /.test(text), `${text.slice(0, 200)}\n${pieces}`);
        assert.doesNotMatch(text, /^HTTP\/1\.1 500 /m, pieces);
      }
      await node.survivor.answers();
    }
    assert.deepEqual(node.orders(), [], 'a hidden request');
    await node.survivor.recovers();
  });

  test('of MQTT commands', async () => {
    const random = new SeededRandom(SEED);
    for (let done = 0; done < COMMANDS; done += 1) {
      const payload = random.chance(0.5)
        ? anyJson(random)
        : damagedText('{"volume": 0.5, "muted": true}', random);
      const text = random.chance(0.3) ? random.pick(WORDS) : payload;
      await node.spy.publish(`${TOPIC}/${random.pick(TOPICS)}`, text, { retain: random.chance(0.1) });
      if (done % 30 === 0) await node.survivor.answers();
    }
    await node.spy.publish(`${TOPIC}/audio/outputs/living/set`, { volume: 0.77 });
    await until('a good command behind the bad ones is carried out', async () =>
      /"volume":0.77/.test((await node.survivor.daemon.get('/audio/outputs')).text),
    );
    assert.deepEqual(node.orders(), []);
    await node.survivor.recovers();
  });

  test('of progress lines', async () => {
    const random = new SeededRandom(SEED);
    const stream = await node.survivor.daemon.events('?types=upgrade.progress,upgrade.info');
    for (let done = 0; done < LINES; ) {
      const socket = connect(join(node.directory, 'progress.sock'));
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.on('error', () => socket.destroy());
      for (let left = random.below(60); left >= 0; left -= 1, done += 1) {
        const line = random.chance(0.3) ? anyJson(random) : random.pick(PROGRESS);
        const wrong = random.chance(0.5) ? damagedText(line, random) : line;
        socket.write(
          Buffer.concat([
            Buffer.from(wrong, random.chance(0.1) ? 'latin1' : 'utf8'),
            Buffer.from(random.pick(['\n', '\r\n', '', '\n\n'])),
          ]),
        );
      }
      socket.end();
      await closed;
      await node.survivor.answers();
    }
    const last = '{"event":"end","success":true,"behind":"all"}';
    const socket = connect(join(node.directory, 'progress.sock'));
    socket.end(`{"event":"begin","total":1}\n${last}\n`);
    await until('a good line behind the bad ones is relayed', () =>
      stream.events.some(({ data }) => data === last),
    );
    for (const { type, data } of stream.events) {
      if (type !== 'upgrade.progress') continue;
      const { event } = JSON.parse(data) as { event: string };
      assert.ok(['begin', 'progress', 'end'].includes(event), data);
    }
    stream.close();
    await node.survivor.recovers();
  });

  for (const who of ['sound', 'broker'] as const) {
    test(`of a ${who === 'sound' ? 'sound server' : 'broker'} whose bytes are damaged`, async () => {
      const random = new SeededRandom(SEED);
      const liar = node.liars[who];
      const { daemon } = node.survivor;
      const stream = await daemon.events('?types=audio.level');
      for (let storm = 0; storm < STORMS; storm += 1) {
        liar.lie();
        const target = liar.damaged() + 1;
        const asked: Promise<{ readonly status: number }>[] = [];
        await until('damaged bytes have come', async () => {
          const volume = random.below(100) / 100;
          if (asked.length < 30) asked.push(daemon.post('/audio/outputs/living/volume', { volume }));
          await node.spy.publish(`${TOPIC}/audio/server/set`, { volume });
          await node.sound.pactl('set-sink-volume', 'kitchen', `${random.below(100)}%`);
          await node.survivor.answers();
          return liar.damaged() >= target;
        });
        liar.becomeHonest();
        for (const { status } of await Promise.all(asked)) assert.notEqual(status, 500);
        await node.survivor.recovers();
      }
      stream.close();
      await node.sound.pactl('set-sink-volume', 'kitchen', '23%');
      await until('the outputs are current', async () =>
        /"name":"kitchen".*?"volume":0.23/.test((await daemon.get('/audio/outputs')).text),
      );
      await node.spy.holds(`${TOPIC}/audio/outputs/kitchen`, (text) => JSON.parse(text).volume === 0.23);
    });
  }
});
