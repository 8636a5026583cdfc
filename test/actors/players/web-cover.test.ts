// Tests covers from the web (docs/players.md, "Covers from the web"): which addresses may be connected to,
// answers of a private web server, and how often it gets requests.

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { CoverReader, type FetchCover } from '../../../src/actors/players/cover.js';
import { NOTHING_KNOWN, withPlayerProperties } from '../../../src/actors/players/facts.js';
import { isPublic } from '../../../src/actors/players/public-address.js';
import { type WebAccess, webCover } from '../../../src/actors/players/web-cover.js';
import type { Clock } from '../../../src/host/clock.js';
import type { Answer } from '../../../src/protocol/actor/commands.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const MAX_BYTES = 8 << 20;

/** A web server of this test at 127.0.0.1, which counts as public here; names lead to it. */
async function web(t: TestContext, answer: RequestListener, more: Partial<WebAccess> = {}) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const open: WebAccess = {
    isPublic: (address) => address === '127.0.0.1',
    addressesOf: async () => ['127.0.0.1'],
    isAllowedPort: () => true,
    ...more,
  };
  // A clock that stands still: a busy machine may take longer than a cover may.
  const fetch = (path = '/', host = 'covers.example', clock: Clock = new ManualClock()) =>
    webCover(`http://${host}:${port}${path}`, clock, open);
  return { fetch, port };
}

test('an image is fetched whole, with its name in Host, from the address that was checked', async (t) => {
  let host: string | undefined;
  const image = Buffer.concat([PNG, Buffer.alloc(MAX_BYTES - PNG.length)]);
  const { fetch, port } = await web(t, (request, response) => {
    host = request.headers.host;
    response.end(image);
  });
  const cover = await fetch();
  assert.equal(cover?.type, 'image/png');
  assert.ok(image.equals(cover?.bytes ?? Buffer.alloc(0)));
  assert.equal(host, `covers.example:${port}`);
  assert.equal((await fetch('/', '127.0.0.1'))?.tag, cover?.tag);
});

const FAILURES: readonly (readonly [what: string, answer: RequestListener])[] = [
  ['another status', (_, response) => response.writeHead(404).end(PNG)],
  ['what is no image', (_, response) => response.end('<svg onload="alert(1)"/>')],
  ['nothing', (_, response) => response.end()],
  ['more than 8 MiB', (_, response) => response.end(Buffer.concat([PNG, Buffer.alloc(MAX_BYTES)]))],
  [
    'a part',
    (_, response) => response.writeHead(200, { 'Content-Length': 99 }).write(PNG, () => response.destroy()),
  ],
  ['a redirect without an address', (_, response) => response.writeHead(302).end()],
  ['a redirect to no address', (_, response) => response.writeHead(302, { Location: 'http://[' }).end()],
  ['a redirect to a file', (_, response) => response.writeHead(302, { Location: 'file:///etc' }).end()],
  ['bytes that are no HTTP', (_, response) => response.socket?.end('hello')],
];
for (const [what, answer] of FAILURES) {
  test(`there is no cover where the web answers with ${what}`, async (t) => {
    const { fetch } = await web(t, answer);
    assert.equal(await fetch(), undefined);
  });
}

test('one redirect is followed, and a second one is not', async (t) => {
  const { fetch } = await web(t, (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end(PNG);
    else response.writeHead(302, { Location: `/${left - 1}` }).end();
  });
  assert.equal((await fetch('/1'))?.type, 'image/png');
  assert.equal(await fetch('/2'), undefined);
});

test('nothing is fetched unless every address of the name is public, also after a redirect', async (t) => {
  const requests: (string | undefined)[] = [];
  const names: Readonly<Record<string, readonly string[]>> = {
    'public.example': ['127.0.0.1'],
    'mixed.example': ['127.0.0.1', '192.168.1.1'],
    'inside.example': ['192.168.1.1'],
  };
  const { fetch, port } = await web(
    t,
    ({ headers, url = '/' }, response) => {
      requests.push(headers.host);
      if (url === '/') response.end(PNG);
      else response.writeHead(307, { Location: `http://${url.slice(1)}:${port}/` }).end();
    },
    { addressesOf: async (host) => names[host] ?? [] },
  );
  const hosts = 'mixed.example inside.example nowhere.example 127.0.0.2 [::1] 0x7f000002';
  for (const host of hosts.split(' ')) {
    assert.equal(await fetch('/', host), undefined, host);
    assert.deepEqual(requests, [], host);
    assert.equal(await fetch(`/${host}`, 'public.example'), undefined, host);
    assert.deepEqual(requests.splice(0), [`public.example:${port}`], host);
  }
  assert.ok(await fetch('/public.example', 'public.example'));
});

test('a name is looked up once: its address cannot change between the check and the fetch', async (t) => {
  let lookups = 0;
  const { fetch } = await web(t, (_, response) => response.end(PNG), {
    addressesOf: async () => {
      lookups += 1;
      return lookups === 1 ? ['127.0.0.1'] : ['192.168.1.1'];
    },
  });
  // No name server has this name, so only the addresses that were checked can lead to the server.
  assert.equal((await fetch('/', 'rebound.invalid'))?.type, 'image/png');
  assert.equal(lookups, 1);
});

test('a URL with a user and password, or another port, is not fetched', async (t) => {
  let requests = 0;
  const { fetch } = await web(
    t,
    (_, response) => {
      requests += 1;
      response.end(PNG);
    },
    { isAllowedPort: (port) => port === '' },
  );
  assert.equal(await fetch(), undefined);
  assert.equal(await fetch('/', 'me:secret@covers.example'), undefined);
  assert.equal(requests, 0);
});

for (const [what, answer] of [
  ['does not answer', () => undefined],
  ['sends its image without end', (_, response) => response.write(PNG)],
] as const satisfies readonly (readonly [string, RequestListener])[]) {
  test(`a web server that ${what} is given up after 5 s, and disconnected`, async (t) => {
    const clock = new ManualClock();
    let isConnected = false;
    const { fetch } = await web(t, (request, response) => {
      isConnected = true;
      request.socket.on('close', () => {
        isConnected = false;
      });
      answer(request, response);
    });
    const cover = fetch('/', 'covers.example', clock);
    await until('the request has come', () => isConnected);
    clock.advance(4_999);
    assert.equal(clock.timers, 1);
    clock.advance(1);
    assert.equal(await cover, undefined);
    await until('the connection has ended', () => !isConnected);
  });
}

test('a name server that does not answer is given up after 5 s', async (t) => {
  const clock = new ManualClock();
  let isAborted = false;
  const { fetch } = await web(t, (_, response) => response.end(PNG), {
    addressesOf: (_, signal) => {
      signal.addEventListener('abort', () => {
        isAborted = true;
      });
      return new Promise(() => undefined);
    },
  });
  const cover = fetch('/', 'covers.example', clock);
  clock.advance(5_000);
  assert.equal(await cover, undefined);
  assert.ok(isAborted);
});

const URL = 'https://covers.example/1';
const image = (tag: string) => ({ tag, type: 'image/png', bytes: Uint8Array.from(PNG) });
const locationOf = (answer: Answer): string => {
  const cover = answer.ok ? answer.value.cover : undefined;
  return typeof cover === 'object' && 'location' in cover ? cover.location : '';
};

/** A reader of covers that asks this fetcher, for players that name a cover on the web. */
function covers(fetch: FetchCover, clock = new ManualClock()) {
  const call = () => Promise.reject(new Error('the player is called'));
  const reader = new CoverReader({ call }, clock, fetch);
  const read = (url: string, cachedTag?: string) =>
    reader.answer({ owner: ':1.7', facts: naming(url) }, cachedTag);
  return { read, clock };
}

const naming = (url: string) => withPlayerProperties(NOTHING_KNOWN, { Metadata: { 'mpris:artUrl': url } });

test('for a minute an address is not fetched again for a client that has its image, nor after a failure', async () => {
  const requests: string[] = [];
  const { read, clock } = covers(async (url) => {
    requests.push(url);
    return url === URL ? image('a') : undefined;
  });
  assert.deepEqual(await read(URL), { ok: true, value: { cover: image('a') } });
  assert.deepEqual(await read(URL, 'a'), { ok: true, value: { cover: 'unchanged' } });
  assert.equal(locationOf(await read(`${URL}/bad`, 'a')), `${URL}/bad`);
  assert.equal(locationOf(await read(`${URL}/bad`, 'a')), `${URL}/bad`);
  assert.equal(requests.length, 2);
  assert.deepEqual(await read(URL, 'another'), { ok: true, value: { cover: image('a') } });
  assert.equal(requests.length, 3);
  clock.advance(60_000);
  assert.deepEqual(await read(URL, 'a'), { ok: true, value: { cover: 'unchanged' } });
  assert.equal(requests.length, 4);
});

test('four covers are fetched at a time; further clients are redirected to the web', async () => {
  const open: (() => void)[] = [];
  const { read } = covers((url) => new Promise((resolve) => open.push(() => resolve(image(url)))));
  const four = [1, 2, 3, 4].map((each) => read(`${URL}${each}`));
  await until('four covers are fetched', () => open.length === 4);
  assert.equal(locationOf(await read(URL)), URL);
  for (const answer of open) answer();
  const expected = [1, 2, 3, 4].map((each) => ({ ok: true, value: { cover: image(`${URL}${each}`) } }));
  assert.deepEqual(await Promise.all(four), expected);
  const again = read(URL);
  await until('another cover is fetched', () => open.length === 5);
  open.at(-1)?.();
  assert.deepEqual(await again, { ok: true, value: { cover: image(URL) } });
});

test('a fetch that throws no longer counts among those under way', async () => {
  let mustThrow = true;
  const { read } = covers(async () => {
    if (mustThrow) throw new Error('the part that fetches cannot be loaded');
    return image('a');
  });
  for (let times = 0; times < 5; times += 1) await assert.rejects(read(URL), /cannot be loaded/);
  mustThrow = false;
  assert.deepEqual(await read(URL), { ok: true, value: { cover: image('a') } });
});

/** The node's networks in the house. */
const OWN = ['192.168.1.20/24', '198.41.0.5/24', '2a02:8070:1:2:3:4:5:6/64', 'fe80::1/64'];

const PUBLIC =
  '1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 191.255.255.255 192.0.3.1 ' +
  '193.0.0.1 198.17.0.1 198.20.0.1 198.41.1.5 223.255.255.255 2a00:1450:4001:800::2004 ' +
  '2606:4700::1111 2001:4860:4860::8888 2a02:8070:2:2::1 64:ff9b::808:808 64:ff9b::8.8.8.8 ' +
  '0064:ff9b:0:0:0:0:0808:0808';
const NOT =
  '0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 ' +
  '169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 ' +
  '198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 ' +
  '198.41.0.9 2a02:8070:1:2::99 :: ::1 ::ffff:8.8.8.8 ::ffff:192.168.1.1 ::8.8.8.8 fc00::1 ' +
  'fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 100::1 2001::1 2001:db8::1 2002:c0a8:101::1 ' +
  '3fff::1 4000::1 64:ff9b::c0a8:101 64:ff9b::10.0.0.1 64:ff9b::1 64:ff9b:: 64:ff9b:1::808:808 ' +
  '64:ff9b::198.41.0.9 localhost 8.8.8 0x08080808 134744072 8.8.8.8%eth0 [2606:4700::1111]';

for (const [addresses, expected] of [
  [PUBLIC, true],
  // The last one is empty.
  [`${NOT} `, false],
] as const) {
  test(`these addresses are ${expected ? '' : 'not '}public`, () => {
    for (const address of addresses.split(' ')) assert.equal(isPublic(address, OWN), expected, address);
  });
}

test('the networks of the house share a prefix of 48 bits, however narrow the network of the node is', () =>
  assert.equal(isPublic('2a00:1:2:44::1', ['2a00:1:2:3::5/128']), false));
