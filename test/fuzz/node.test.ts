// Sends bad input to one built daemon while it serves: malformed requests, and damaged bytes of a sound
// server and of a broker. The daemon answers at any time, does only what was requested, and recovers in the
// end. Bad MQTT commands and progress lines are in test/actors.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { SEED, SeededRandom } from '../seeded-random.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { type FuzzedNode, PROGRAMS, startFuzzedNode, TOPIC } from './fuzzed-node.js';
import { type Pieces, randomAttack, routesOf } from './http-attacks.js';

const CONNECTIONS = 1000;
const CONNECTIONS_AT_ONCE = 40;
/** The number of storms, which follow each other. During a storm, bytes of a server are damaged. */
const STORMS = 3;
const POSTS_PER_STORM_MAX = 30;

describe(`bad input (TONEARM_FUZZ_SEED=${SEED})`, { skip: skipReason({ programs: PROGRAMS }) }, () => {
  let node: FuzzedNode;
  before(async () => {
    node = await startFuzzedNode(SEED);
  });
  after(() => node?.stop());

  /** Sends the pieces on a new connection. Resolves with the answer when the node closes the connection. */
  async function attack(pieces: Pieces): Promise<string> {
    const connection = new RawConnection(node.survivor.daemon.port);
    for (const piece of pieces) {
      connection.write(Buffer.from(piece, 'latin1'));
      // After this turn the next piece is sent in a packet of its own.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return connection.end().untilClosed();
  }

  test('the node survives malformed requests', async () => {
    const random = new SeededRandom(SEED);
    const routes = routesOf(await node.survivor.daemon.read('/openapi.json'));
    for (let attacked = 0; attacked < CONNECTIONS; attacked += CONNECTIONS_AT_ONCE) {
      const attacks = Array.from({ length: CONNECTIONS_AT_ONCE }, () => randomAttack(routes, random));
      const responses = await Promise.all(attacks.map(attack));
      for (const [index, text] of responses.entries()) {
        const pieces = JSON.stringify(attacks[index]).slice(0, 3000);
        assert.ok(text === '' || /^HTTP\/1\.1 [1-5]\d\d /.test(text), `${text.slice(0, 200)}\n${pieces}`);
        assert.doesNotMatch(text, /^HTTP\/1\.1 500 /m, pieces);
      }
      await node.survivor.answers();
    }
    assert.deepEqual(node.powerCalls(), [], 'a reboot that was hidden in an attack was carried out');
    await node.survivor.recovers();
  });

  const PEERS = { sound: 'a sound server', broker: 'a broker' } as const;
  for (const peer of ['sound', 'broker'] as const) {
    test(`the node survives ${PEERS[peer]} whose bytes are damaged`, async () => {
      const random = new SeededRandom(SEED);
      const proxy = node.proxies[peer];
      const { daemon } = node.survivor;
      // The daemon measures levels only while a stream requests them (docs/events.md, "Levels"). For this,
      // the sound server sends sound, and the proxy damages these bytes, too.
      const stream = await daemon.events('?types=audio.level');
      for (let storm = 0; storm < STORMS; storm += 1) {
        proxy.lie();
        const damagedBefore = proxy.damaged;
        const postAnswers: Promise<{ readonly status: number }>[] = [];
        await until('the server has sent bytes that were damaged', async () => {
          const volume = random.below(100) / 100;
          if (postAnswers.length < POSTS_PER_STORM_MAX)
            postAnswers.push(daemon.post('/audio/outputs/living/volume', { volume }));
          await node.spy.publish(`${TOPIC}/audio/server/set`, { volume });
          await node.sound.pactl('set-sink-volume', 'kitchen', `${random.below(100)}%`);
          await node.survivor.answers();
          return proxy.damaged > damagedBefore;
        });

        proxy.becomeHonest();
        for (const { status } of await Promise.all(postAnswers)) assert.notEqual(status, 500);
        await node.survivor.recovers();
      }
      stream.close();

      await node.sound.pactl('set-sink-volume', 'kitchen', '23%');
      await until('the daemon knows the last volume', async () =>
        /"name":"kitchen".*?"volume":0.23/.test((await daemon.get('/audio/outputs')).text),
      );
      await node.spy.untilText(`${TOPIC}/audio/outputs/kitchen`, (text) => JSON.parse(text).volume === 0.23);
    });
  }
});
