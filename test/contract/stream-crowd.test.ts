// A thousand consumers on the built daemon and a real sound server: each receives every event, those that do not read slow nobody down,
// and no memory stays behind (docs/events.md, "Slow readers").

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { EventConsumer } from '../consumer/consumer.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { audioForAll, type Output } from './audio-node.js';
import { type CrowdMember, openCrowd } from './stream-crowd.js';
import { Mixer } from './stream-mixer.js';

const READING = 1000;
const NOT_READING = 200;
const CHANGES = 400;
const WARM_UP_CHANGES = 40;
const EVERY_MS = 50;
/** Only changes of outputs, so that no other events are mixed with them. */
const OUTPUTS_ONLY = '?types=audio.output.updated';

/** Records of about 120 kB, so that few events fill the 4 MB that the kernel takes for each consumer. */
const BIG_PROPS = Object.fromEntries(
  Array.from({ length: 120 }, (_, at) => [`big.${at}`, 'x'.repeat(1000)] as const),
);
const BIG_STREAMS = 16;
const STALL_DEADLINE_MS = 60_000;

/**
 * The daemon may keep this much, in MB. 1000 consumers with 400 events of 0.5 kB receive 200 MB, and 200 consumers that
 * do not read are sent 5 MB each: anything that is kept per consumer and event needs far more than this.
 */
const GROWTH_MAX_MB = 48;
/** The limit while 200 streams are behind: each keeps the portion that it had begun (64 to 256 kB). */
const STALLED_GROWTH_MAX_MB = 160;

const skip = lacks({ programs: ['pulseaudio', 'pactl'] });

describe('many consumers', { skip }, () => {
  // Declared first, so that the connections end before the servers.
  after(() => {
    for (const member of crowd) member.close();
    mixer.close();
  });
  const node = audioForAll({ api: 'sse: {maxClients: 1100}' });
  let mixer: Mixer;
  let reference: EventConsumer;
  let living: number;
  let crowd: readonly CrowdMember[] = [];
  let changes = 0;
  let settledMb = 0;

  before(async () => {
    const outputs = await node.daemon.read<Output[]>('/audio/outputs');
    living = outputs.find(({ name }) => name === 'living')?.id ?? -1;
    mixer = await Mixer.connect(node.sound.socketPath);
  });
  /** Never sets the same level twice in a row, so that each call is a change. */
  async function change(): Promise<void> {
    changes += 1;
    await mixer.setSinkVolume(living, 0.2 + (changes % 50) / 100);
  }

  async function changeTimes(count: number): Promise<void> {
    for (let done = 0; done < count; done += 1) await Promise.all([change(), pause(EVERY_MS)]);
  }

  /** Waits until the reference has received the last change; resolves with the sequence numbers since `from`. */
  async function heard(from: number): Promise<readonly number[]> {
    const level = 0.2 + (changes % 50) / 100;
    const isLast = (record: unknown): boolean =>
      (record as readonly Output[]).some(({ volume }) => Math.abs(volume - level) < 0.005);
    await reference.until(
      ({ events }) => isLast(JSON.parse(events.at(-1)?.data ?? '[]')),
      'the last change at the reference',
    );
    return reference.events.slice(from).map(({ lastEventId }) => Number(lastEventId.split('-')[1]));
  }

  async function everyoneHeard(members: readonly CrowdMember[], wanted: readonly number[]): Promise<void> {
    const last = wanted.at(-1);
    await until('all consumers have the last change', () =>
      members.every(({ sequences }) => sequences.at(-1) === last),
    );
    const [record] = await node.daemon.read<Output[]>('/audio/outputs');
    for (const member of members) {
      assert.deepEqual(member.sequences, wanted, 'every event, once and in order');
      assert.deepEqual(JSON.parse(member.last), [record]);
    }
  }

  function forget(): number {
    for (const member of crowd) member.sequences.length = 0;
    return reference.events.length;
  }

  test('1000 of which get each change, in order, and no memory is kept', async (t) => {
    reference = await node.daemon.events(OUTPUTS_ONLY);
    crowd = await openCrowd(node.daemon.port, READING, OUTPUTS_ONLY);
    assert.equal((await node.daemon.health()).streams.open, READING + 1);
    await changeTimes(WARM_UP_CHANGES);
    await everyoneHeard(crowd, await heard(1));
    const before = node.daemon.memoryMb;
    const from = forget();
    await changeTimes(CHANGES);
    const wanted = await heard(from);
    assert.ok(wanted.length > CHANGES / 2, `${wanted.length} of ${CHANGES} changes were told apart`);
    await everyoneHeard(crowd, wanted);
    settledMb = node.daemon.memoryMb;
    t.diagnostic(`${wanted.length} events; ${before} MB, then ${settledMb} MB`);
    assert.ok(settledMb - before < GROWTH_MAX_MB, `${before} MB have become ${settledMb} MB`);
    assert.deepEqual((await node.daemon.health()).streams, { open: READING + 1, closed_slow: 0 });
  });

  test('200 of which never read and are closed after 10 s without progress, while the others notice nothing', async (t) => {
    for (const member of crowd.slice(READING - NOT_READING)) member.close();
    crowd = crowd.slice(0, READING - NOT_READING);
    await node.daemon.openStreams(crowd.length + 1);
    const closedBefore = (await node.daemon.health()).streams.closed_slow;
    await openCrowd(node.daemon.port, NOT_READING, '', { reads: false });
    await node.daemon.openStreams(READING + 1);
    const client = await node.sound.streams('big');
    const streams = await client.open(
      Array.from({ length: BIG_STREAMS }, (_, at) => ({
        sink: 'kitchen',
        props: { 'media.name': `big ${at}`, ...BIG_PROPS },
      })),
    );
    const from = forget();
    let peakMb = 0;
    let rounds = 0;
    await until(
      'all consumers that do not read are closed',
      async () => {
        rounds += 1;
        const level = 0.2 + (rounds % 50) / 100;
        await Promise.all(streams.map(({ id }) => mixer.setStreamVolume(id, level)));
        await changeTimes(2);
        peakMb = Math.max(peakMb, node.daemon.memoryMb);
        return (await node.daemon.health()).streams.closed_slow === closedBefore + NOT_READING;
      },
      STALL_DEADLINE_MS,
    );
    assert.equal((await node.daemon.health()).streams.open, crowd.length + 1);
    await everyoneHeard(crowd, await heard(from));
    await client.close();
    await until(
      'the big streams are gone',
      async () => (await node.daemon.get('/audio/clients')).text === '[]',
    );
    t.diagnostic(`${rounds} rounds; ${settledMb} MB, at most ${peakMb} MB, then ${node.daemon.memoryMb} MB`);
    assert.ok(peakMb - settledMb < STALLED_GROWTH_MAX_MB, `${settledMb} MB have become ${peakMb} MB`);
  });
});
