// Attacks by web pages, and their honest counterparts, on the built daemon with a real sound server (docs/http-api.md, "Host and Origin"):
// a request is refused before it has any effect. Requests are written byte by byte, because no client would send them.

import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { before, describe, test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { audioForAll, type Output, startAudio } from './audio-node.js';

const skip = lacks({ programs: ['pulseaudio', 'pactl'] });
const VOLUME = '/audio/outputs/living/volume';
const CALM = 0.5;
const NAME = hostname().replace(/\..*/, '');

interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

/** Sends a head and a body, and reads the head of the answer; an answer that is no HTTP has status 0. */
async function send(port: number, lines: readonly string[], body = ''): Promise<Answer> {
  const sized = body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`];
  const connection = new RawConnection(port).write(`${[...lines, ...sized].join('\r\n')}\r\n\r\n${body}`);
  const received = await connection.until((text) => text.includes('\r\n\r\n'));
  connection.destroy();
  const [first = '', ...rest] = (received.split('\r\n\r\n')[0] ?? '').split('\r\n');
  const headers = rest.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(first.split(' ')[1] ?? 0), headers: new Map(headers) };
}

describe('the built daemon and strangers', { skip }, () => {
  const node = audioForAll({
    api: 'hosts: [music.example.org, Radio.Lan.], cors: {origins: ["http://app.lan", "https://ha.example.org:8123"]}',
  });
  let own: string;
  before(async () => {
    own = `127.0.0.1:${node.daemon.port}`;
    await node.daemon.post(VOLUME, { volume: CALM });
    await hasVolume(CALM);
  });

  async function volume(): Promise<number> {
    const outputs = await node.daemon.read<Output[]>('/audio/outputs');
    return outputs.find(({ name }) => name === 'living')?.volume ?? Number.NaN;
  }

  async function hasVolume(level: number): Promise<void> {
    await until(`the volume is ${level}`, async () => (await volume()) === level);
  }

  /**
   * Commands are carried out one after another. The fence is a permitted change of another output: once it is applied, an
   * earlier attack that succeeded would show.
   */
  async function nothingHappened(): Promise<void> {
    const fence = await node.daemon.post('/audio/outputs/kitchen/mute');
    assert.equal(fence.status, 202);
    assert.match(await node.sound.pactl('get-sink-volume', 'living'), / 50% /);
    assert.equal(await volume(), CALM);
  }

  function change(headers: readonly string[], level = 0.9): Promise<Answer> {
    return send(node.daemon.port, [`POST ${VOLUME} HTTP/1.1`, ...headers], JSON.stringify({ volume: level }));
  }

  /** The request is allowed and has its effect; afterwards the volume is as before. */
  async function isAllowed(headers: readonly string[]): Promise<void> {
    assert.equal((await change(headers, 0.6)).status, 202);
    await hasVolume(0.6);
    assert.equal((await change(headers, CALM)).status, 202);
    await hasVolume(CALM);
  }

  /** The rows of Host: gateway/hosts.ts. */
  for (const host of ['evil.example', `${NAME}.evil.example`]) {
    test(`Host ${host} is refused everywhere`, async () => {
      assert.equal((await change([`Host: ${host}`])).status, 403);
      for (const [method, path] of [
        ['GET', '/audio'],
        ['GET', '/events'],
        ['HEAD', '/events'],
        ['GET', '/health'],
        ['GET', '/nowhere'],
        ['OPTIONS', VOLUME],
      ]) {
        const answer = await send(node.daemon.port, [`${method} ${path} HTTP/1.1`, `Host: ${host}`]);
        assert.equal(answer.status, 403, `${method} ${path}`);
        assert.equal(answer.headers.get('content-type'), 'application/problem+json');
        assert.equal(answer.headers.get('access-control-allow-origin'), undefined);
      }
      await nothingHappened();
    });
  }

  for (const host of [NAME, `${NAME}.local:8018`, '[::1]', 'music.example.org']) {
    test(`Host ${host} is accepted`, async () => {
      await isAllowed([`Host: ${host}`]);
      const { status } = await send(node.daemon.port, ['GET /events HTTP/1.1', `Host: ${host}`]);
      assert.equal(status, 200);
    });
  }

  /** The rows of Origin and Sec-Fetch-Site: gateway/trust.test.ts. */
  const FOREIGN_PAGES: readonly (readonly [what: string, headers: () => readonly string[]])[] = [
    ['a foreign page', () => ['Origin: http://evil.example', 'Sec-Fetch-Site: cross-site']],
    ['a sandboxed page in an old browser', () => ['Origin: null']],
    ['a form of another site without Origin', () => ['Sec-Fetch-Site: cross-site']],
    [
      'a page of the same name and port that the browser calls another site',
      () => [`Origin: http://${own}`, 'Sec-Fetch-Site: cross-site'],
    ],
    ['a page of api.hosts, which is no origin', () => ['Origin: http://radio.lan']],
  ];
  for (const [what, headers] of FOREIGN_PAGES) {
    test(`${what} has no effect`, async () => {
      const answer = await change([`Host: ${own}`, ...headers()]);
      assert.equal(answer.status, 403);
      assert.equal(answer.headers.get('access-control-allow-origin'), undefined);
      await nothingHappened();
    });
  }

  const OWN_PAGES: readonly (readonly [what: string, headers: () => readonly string[]])[] = [
    ['no browser', () => []],
    ['a page of the node behind https', () => [`Origin: https://${own}`, 'Sec-Fetch-Site: same-origin']],
    ['an allowed page', () => ['Origin: http://app.lan', 'Sec-Fetch-Site: cross-site']],
  ];
  for (const [what, headers] of OWN_PAGES) {
    test(`${what} may change the volume`, () => isAllowed([`Host: ${own}`, ...headers()]));
  }

  const FORWARDED = [
    'X-Forwarded-Host: localhost',
    'X-Forwarded-Proto: https',
    'Forwarded: host=localhost;proto=https',
  ];
  test('headers of a proxy about its name and origin are ignored', async () => {
    for (const claimed of [
      ['Host: evil.example', 'Origin: https://evil.example'],
      [`Host: ${own}`, 'Origin: https://localhost'],
    ]) {
      assert.equal((await change([...claimed, ...FORWARDED])).status, 403);
    }
    await nothingHappened();
  });

  test('a page may change things under each name of the node that it was loaded from', async () => {
    for (const host of ['radio.lan', `localhost:${node.daemon.port}`, `[::1]:${node.daemon.port}`]) {
      await isAllowed([`Host: ${host}`, `Origin: http://${host}`, 'Sec-Fetch-Site: same-origin']);
    }
  });

  describe('readable by other origins', () => {
    for (const [path, status] of [
      ['/audio', 200],
      ['/events', 200],
      ['/nowhere', 404],
    ] as const) {
      test(`an allowed origin reads ${path}, another origin nothing`, async () => {
        const get = (origin: string): Promise<Answer> =>
          send(node.daemon.port, [`GET ${path} HTTP/1.1`, `Host: ${own}`, `Origin: ${origin}`]);
        const allowed = await get('http://app.lan');
        assert.equal(allowed.status, status);
        assert.equal(allowed.headers.get('access-control-allow-origin'), 'http://app.lan');
        assert.match(allowed.headers.get('access-control-expose-headers') ?? '', /ETag/);
        assert.match(allowed.headers.get('vary') ?? '', /Origin/);
        for (const origin of ['http://evil.example', 'null']) {
          const foreign = await get(origin);
          assert.equal(foreign.headers.get('access-control-allow-origin'), undefined, origin);
          assert.match(foreign.headers.get('vary') ?? '', /Origin/);
        }
      });
    }
  });

  describe('preflights', () => {
    const PRIVATE = 'Access-Control-Request-Private-Network: true';
    function preflight(origin: string, path = VOLUME, ...more: readonly string[]): Promise<Answer> {
      const asked = ['Access-Control-Request-Method: POST', 'Access-Control-Request-Headers: content-type'];
      const head = [`OPTIONS ${path} HTTP/1.1`, `Host: ${own}`, `Origin: ${origin}`];
      return send(node.daemon.port, [...head, ...asked, ...more]);
    }

    for (const path of [VOLUME, '/events']) {
      test(`of an allowed origin for ${path} are granted`, async () => {
        const { status, headers } = await preflight('http://app.lan', path);
        assert.equal(status, 204);
        assert.equal(headers.get('access-control-allow-origin'), 'http://app.lan');
        assert.equal(headers.get('access-control-allow-methods'), 'GET, POST, OPTIONS');
        assert.equal(headers.get('access-control-allow-headers'), 'Content-Type, Last-Event-ID');
        assert.equal(headers.get('access-control-max-age'), '600');
        assert.equal(headers.get('access-control-allow-private-network'), undefined);
      });
    }

    test('of an allowed origin in a public network grant the private network on request', async () => {
      const { headers } = await preflight('http://app.lan', VOLUME, PRIVATE);
      assert.equal(headers.get('access-control-allow-private-network'), 'true');
    });
  });
});

test("with * any page may do anything, under the node's names only", { skip }, async (t) => {
  const { daemon } = await startAudio(t, { api: 'cors: {origins: ["*"]}' });
  const mute = ['POST /audio/server/mute HTTP/1.1', 'Content-Length: 0'];
  for (const origin of ['http://evil.example', 'null']) {
    const answer = await send(daemon.port, [...mute, 'Host: localhost', `Origin: ${origin}`]);
    assert.equal(answer.status, 202);
    assert.equal(answer.headers.get('access-control-allow-origin'), '*');
  }
  const rebound = await send(daemon.port, [...mute, 'Host: evil.example', 'Origin: http://evil.example']);
  assert.equal(rebound.status, 403);
});
