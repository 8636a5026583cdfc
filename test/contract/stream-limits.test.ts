// The limits and the form of a stream (docs/events.md, "Query"), on the built daemon and a real sound server: seats, and texts that try to break the framing.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { allKnowTheTruth, audioForAll, type Client } from './audio-node.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

const skip = lacks({ programs: ['pulseaudio', 'pactl'] });

describe('a stream without any backend', () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await Daemon.start({ config: NO_BACKENDS, api: 'sse: {maxClients: 3}' });
  });
  after(() => daemon.stop());

  test('beyond api.sse.maxClients streams are 503 with Retry-After, until one ends', async () => {
    const seated = await Promise.all(Array.from({ length: 3 }, () => daemon.events()));
    for (let round = 0; round < 2; round += 1) {
      const refused = await daemon.get('/events');
      assert.equal(refused.status, 503);
      assert.match(String(refused.headers['retry-after']), /^[1-9]\d*$/);
      assert.equal(refused.headers['content-type'], 'application/problem+json');
      assert.equal((await daemon.get('/server')).status, 200, 'only streams are full');
      const left = seated.shift();
      left?.close();
      await daemon.openStreams(2);
      const next = await daemon.events();
      assert.equal(next.status, 200);
      seated.push(next);
    }
    for (const stream of seated) stream.close();
    await daemon.openStreams(0);
  });

  test('a stream that is refused, requested by HEAD or badly requested does not count', async () => {
    for (const query of ['?keepalive=9', '?exclude=server.info']) {
      assert.equal((await daemon.get(`/events${query}`)).status, 400);
      assert.equal((await daemon.send('HEAD', `/events${query}`)).status, 400);
    }
    const head = await daemon.send('HEAD', '/events');
    assert.equal(head.status, 200);
    assert.equal(head.text, '');
    assert.equal(head.headers['content-type'], 'text/event-stream');
    assert.equal(head.headers['cache-control'], 'no-cache');
    assert.equal(head.headers['x-accel-buffering'], 'no');
    await daemon.openStreams(0);
  });
});

describe('a stream of a real node', { skip }, () => {
  const node = audioForAll();

  const WILD: Readonly<Record<string, Buffer>> = {
    'media.name': Buffer.from('one\ndata: two\r\n\r\nid: x-1\nevent: server.info\ndata: "bye"\n\n'),
    'wild.cr': Buffer.from('a\rb\r\rc'),
    'wild.crlf': Buffer.from('\r\n\r\ndata: {}\r\n\r\n'),
    'wild.nul': Buffer.from('a\0b\0'),
    'wild.separators': Buffer.from('a\u2028b\u2029c\u0085d\u000be\u000cf'),
    'wild.bom': Buffer.from('\ufeffa'),
    'wild.half': Buffer.from([0x61, 0xed, 0xa0, 0x80, 0x62, 0xed, 0xb0, 0x80]),
    'wild.invalid': Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xe2, 0x82, 0xf0, 0x9f, 0x98]),
    'wild.overlong': Buffer.from([0xc0, 0x8a, 0xe0, 0x80, 0x8a]),
    'wild.emoji': Buffer.from('🎵'),
    'wild.quotes': Buffer.from('"\\","x":["\\u000a'),
  };
  test('hostile texts cannot break the framing, live, replayed or in a snapshot', async () => {
    const { sound, daemon } = node;
    const live = await daemon.events('?snapshot=1');
    const away = await daemon.events('?snapshot=1');
    await allKnowTheTruth(daemon, [live, away]);
    away.close();
    const client = await sound.streams('wild');
    const [wild] = await client.open([{ sink: 'living', props: WILD }]);
    await until('the stream is listed', async () =>
      (await daemon.read<Client[]>('/audio/clients')).some(({ id }) => id === wild?.id),
    );
    await away.reconnect();
    const late = await daemon.events('?snapshot=1');
    const all = [live, away, late];
    await allKnowTheTruth(daemon, all);
    for (const stream of all) {
      assert.ok(!stream.dataOf('server.info').includes('bye'), 'no event was smuggled in');
      assert.match(stream.lastEventId, /^\w+-\d+$/);
      const record = stream.model.clients.get(String(wild?.id)) as unknown as Client;
      for (const [key, value] of Object.entries(WILD)) {
        assert.equal(record.props?.[key], value.toString('utf8'), key);
      }
    }
    await client.close();
    await until(
      'the stream is gone',
      async () => (await daemon.read<Client[]>('/audio/clients')).length === 0,
    );
    await allKnowTheTruth(daemon, all);
    for (const stream of all) stream.close();
  });
});
