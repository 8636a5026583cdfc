// Bad input to one built daemon while it serves: malformed requests, and damaged bytes of a sound server and
// of a broker. The daemon answers at any time, does nothing that nobody asked for, and recovers in the end.
// Bad MQTT commands and progress lines are in test/actors.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { type FuzzedNode, PROGRAMS, startFuzzedNode, TOPIC } from './fuzzed-node.js';
import { anyAttack, type Pieces, routesOf } from './http-attacks.js';

const CONNECTIONS = 1000;
const AT_ONCE = 40;
const STORMS = 3;

describe(`bad input (TONEARM_FUZZ_SEED=${SEED})`, { skip: lacks({ programs: PROGRAMS }) }, () => {
  let node: FuzzedNode;
  before(async () => {
    node = await startFuzzedNode(SEED);
  });
  after(() => node?.stop());

  /**
   * Opens a connection, sends the pieces, and resolves with all that it received until the node closed it.
   */
  async function attack(pieces: Pieces): Promise<string> {
    const connection = new RawConnection(node.survivor.daemon.port);
    for (const piece of pieces) {
      connection.write(Buffer.from(piece, 'latin1'));
      // Waits, so that the next piece is sent in a packet of its own.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return connection.end().untilClosed();
  }

  test('the node survives malformed requests', async () => {
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

  for (const who of ['sound', 'broker'] as const) {
    test(`the node survives a ${who === 'sound' ? 'sound server' : 'broker'} whose bytes are damaged`, async () => {
      const random = new SeededRandom(SEED);
      const liar = node.liars[who];
      const { daemon } = node.survivor;
      const stream = await daemon.events('?types=audio.level');
      for (let storm = 0; storm < STORMS; storm += 1) {
        liar.lie();
        const target = liar.damaged + 1;
        const answers: Promise<{ readonly status: number }>[] = [];
        await until('damaged bytes have come', async () => {
          const volume = random.below(100) / 100;
          if (answers.length < 30) answers.push(daemon.post('/audio/outputs/living/volume', { volume }));
          await node.spy.publish(`${TOPIC}/audio/server/set`, { volume });
          await node.sound.pactl('set-sink-volume', 'kitchen', `${random.below(100)}%`);
          await node.survivor.answers();
          return liar.damaged >= target;
        });
        liar.becomeHonest();
        for (const { status } of await Promise.all(answers)) assert.notEqual(status, 500);
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
