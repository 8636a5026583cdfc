// Tests covers from the web (docs/players.md, "Covers from the web"): from which addresses they are fetched,
// which answers of a web server are covers, and how often the server gets requests.

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

/** Starts a web server at 127.0.0.1. By default every name leads to this address, which counts as public. */
async function startWeb(t: TestContext, answer: RequestListener, overrides: Partial<WebAccess> = {}) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const access: WebAccess = {
    isPublic: (address) => address === '127.0.0.1',
    addressesOf: async () => ['127.0.0.1'],
    isAllowedPort: () => true,
    ...overrides,
  };
  // This clock stands still, so that no deadline passes on a busy machine.
  const fetch = (path = '/', host = 'covers.example', clock: Clock = new ManualClock()) =>
    webCover(`http://${host}:${port}${path}`, clock, access);
  return { fetch, port };
}

test('an image is fetched whole from the address that was checked, and the header Host has the name from the URL', async (t) => {
  let host: string | undefined;
  const image = Buffer.concat([PNG, Buffer.alloc(MAX_BYTES - PNG.length)]);
  const { fetch, port } = await startWeb(t, (request, response) => {
    host = request.headers.host;
    response.end(image);
  });
  const cover = await fetch();
  assert.equal(cover?.type, 'image/png');
  assert.ok(image.equals(cover?.bytes ?? Buffer.alloc(0)));
  assert.equal(host, `covers.example:${port}`);
  const sameImage = await fetch('/', '127.0.0.1');
  assert.equal(sameImage?.tag, cover?.tag, 'the tag depends only on the image');
});

const FAILURES: readonly (readonly [what: string, answer: RequestListener])[] = [
  ['the status 404', (_, response) => response.writeHead(404).end(PNG)],
  ['a drawing, which may contain scripts', (_, response) => response.end('<svg onload="alert(1)"/>')],
  ['nothing', (_, response) => response.end()],
  ['more than 8 MiB', (_, response) => response.end(Buffer.concat([PNG, Buffer.alloc(MAX_BYTES)]))],
  [
    'only a part of the image',
    (_, response) => response.writeHead(200, { 'Content-Length': 99 }).write(PNG, () => response.destroy()),
  ],
  ['a redirect without a Location', (_, response) => response.writeHead(302).end()],
  ['a redirect to an invalid URL', (_, response) => response.writeHead(302, { Location: 'http://[' }).end()],
  ['a redirect to a file', (_, response) => response.writeHead(302, { Location: 'file:///etc' }).end()],
  ['bytes that are no HTTP', (_, response) => response.socket?.end('hello')],
];
for (const [what, answer] of FAILURES) {
  test(`there is no cover if the web server answers with ${what}`, async (t) => {
    const { fetch } = await startWeb(t, answer);
    assert.equal(await fetch(), undefined);
  });
}

test('one redirect is followed, and a second one is not', async (t) => {
  const { fetch } = await startWeb(t, (request, response) => {
    const redirectsLeft = Number(request.url?.slice(1));
    if (redirectsLeft === 0) response.end(PNG);
    else response.writeHead(302, { Location: `/${redirectsLeft - 1}` }).end();
  });
  assert.equal((await fetch('/1'))?.type, 'image/png');
  assert.equal(await fetch('/2'), undefined);
});

test('an image is fetched only if every address of the name is public, also after a redirect', async (t) => {
  const requestedHosts: (string | undefined)[] = [];
  const addressesOfNames: Readonly<Record<string, readonly string[]>> = {
    'public.example': ['127.0.0.1'],
    'mixed.example': ['127.0.0.1', '192.168.1.1'],
    'inside.example': ['192.168.1.1'],
  };
  const { fetch, port } = await startWeb(
    t,
    // The path `/inside.example` redirects to the host inside.example.
    ({ headers, url = '/' }, response) => {
      requestedHosts.push(headers.host);
      if (url === '/') response.end(PNG);
      else response.writeHead(307, { Location: `http://${url.slice(1)}:${port}/` }).end();
    },
    { addressesOf: async (host) => addressesOfNames[host] ?? [] },
  );
  // `0x7f000002` is another spelling of 127.0.0.2. Only 127.0.0.1 counts as public here (`startWeb`).
  const hosts = ['mixed.example', 'inside.example', 'nowhere.example', '127.0.0.2', '[::1]', '0x7f000002'];
  for (const host of hosts) {
    assert.equal(await fetch('/', host), undefined, host);
    assert.deepEqual(requestedHosts, [], host);

    assert.equal(await fetch(`/${host}`, 'public.example'), undefined, host);
    assert.deepEqual(requestedHosts, [`public.example:${port}`], host);
    requestedHosts.length = 0;
  }
  assert.ok(await fetch('/public.example', 'public.example'));
});

test('a name is looked up only once, so its address cannot change between the check and the fetch', async (t) => {
  let lookups = 0;
  const { fetch } = await startWeb(t, (_, response) => response.end(PNG), {
    addressesOf: async () => {
      lookups += 1;
      return lookups === 1 ? ['127.0.0.1'] : ['192.168.1.1'];
    },
  });
  // No name server has this name, so only the addresses that were checked can lead to the server.
  assert.equal((await fetch('/', 'rebound.invalid'))?.type, 'image/png');
  assert.equal(lookups, 1);
});

/**
 * `authority` is the host, and before the host the user and the password, if there are any. In a parsed URL
 * the port 80 is ''. The web server of the test has another port.
 */
const REFUSED_URLS: readonly (readonly [
  what: string,
  authority: string,
  isAllowedPort: WebAccess['isAllowedPort'],
])[] = [
  ['another port than 80', 'covers.example', (port) => port === ''],
  ['a user and a password', 'me:secret@covers.example', () => true],
  ['a user', 'me@covers.example', () => true],
  ['a password', ':secret@covers.example', () => true],
];
for (const [what, authority, isAllowedPort] of REFUSED_URLS) {
  test(`a URL with ${what} is not fetched`, async (t) => {
    let requests = 0;
    const { fetch } = await startWeb(
      t,
      (_, response) => {
        requests += 1;
        response.end(PNG);
      },
      { isAllowedPort },
    );
    assert.equal(await fetch('/', authority), undefined);
    assert.equal(requests, 0);
  });
}

for (const [what, answer] of [
  ['does not answer', () => undefined],
  ['sends its image without end', (_, response) => response.write(PNG)],
] as const satisfies readonly (readonly [string, RequestListener])[]) {
  test(`after 5 s the fetch gives up and disconnects a web server that ${what}`, async (t) => {
    const clock = new ManualClock();
    let isConnected = false;
    const { fetch } = await startWeb(t, (request, response) => {
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

test('after 5 s the fetch gives up if a name server does not answer', async (t) => {
  const clock = new ManualClock();
  let isAborted = false;
  const { fetch } = await startWeb(t, (_, response) => response.end(PNG), {
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
  assert.ok(isAborted, 'the look-up is aborted');
});

const COVER_URL = 'https://covers.example/1';
const imageOf = (tag: string) => ({ tag, type: 'image/png', bytes: Uint8Array.from(PNG) });
/** The address to which the answer redirects the client; '' if the answer is no redirect. */
const locationOf = (answer: Answer): string => {
  const cover = answer.ok ? answer.value.cover : undefined;
  return typeof cover === 'object' && 'location' in cover ? cover.location : '';
};

const factsNaming = (url: string) =>
  withPlayerProperties(NOTHING_KNOWN, { Metadata: { 'mpris:artUrl': url } });

/**
 * `read` reads the cover of a player that names `url`. `cachedTag`: the tag of the gateway's cached cover.
 */
function readerWith(fetch: FetchCover, clock = new ManualClock()) {
  const call = () => Promise.reject(new Error('the player must not be called'));
  const reader = new CoverReader({ call }, clock, fetch);
  const read = (url: string, cachedTag?: string) =>
    reader.answer({ owner: ':1.7', facts: factsNaming(url) }, cachedTag);
  return { read, clock };
}

test('an address is not fetched again for a minute if the fetch has failed, or if the gateway has the image', async () => {
  const requests: string[] = [];
  const { read, clock } = readerWith(async (url) => {
    requests.push(url);
    return url === COVER_URL ? imageOf('a') : undefined;
  });
  assert.deepEqual(await read(COVER_URL), { ok: true, value: { cover: imageOf('a') } });
  assert.deepEqual(await read(COVER_URL, 'a'), { ok: true, value: { cover: 'unchanged' } });
  assert.equal(locationOf(await read(`${COVER_URL}/bad`, 'a')), `${COVER_URL}/bad`);
  assert.equal(locationOf(await read(`${COVER_URL}/bad`, 'a')), `${COVER_URL}/bad`);
  assert.equal(requests.length, 2, 'one fetch of the image, and one that failed');

  assert.deepEqual(await read(COVER_URL, 'another'), { ok: true, value: { cover: imageOf('a') } });
  assert.equal(requests.length, 3, 'the gateway has another image');

  clock.advance(60_000);
  assert.deepEqual(await read(COVER_URL, 'a'), { ok: true, value: { cover: 'unchanged' } });
  assert.equal(requests.length, 4, 'a minute later');
});

/** At most this number of covers are fetched at a time (cover.ts). */
const FETCHES_MAX = 4;

test('at most four covers are fetched at a time; a client that requests another one is redirected to the web', async () => {
  const finishers: (() => void)[] = [];
  const { read } = readerWith((url) => new Promise((resolve) => finishers.push(() => resolve(imageOf(url)))));
  const urls = [1, 2, 3, 4].map((number) => `${COVER_URL}${number}`);
  const answers = urls.map((url) => read(url));
  await until('four covers are being fetched', () => finishers.length === FETCHES_MAX);
  assert.equal(locationOf(await read(COVER_URL)), COVER_URL);

  for (const finish of finishers) finish();
  const expected = urls.map((url) => ({ ok: true, value: { cover: imageOf(url) } }));
  assert.deepEqual(await Promise.all(answers), expected);

  const later = read(COVER_URL);
  await until('another cover is being fetched', () => finishers.length === FETCHES_MAX + 1);
  finishers.at(-1)?.();
  assert.deepEqual(await later, { ok: true, value: { cover: imageOf(COVER_URL) } });
});

test('a fetch that has ended with an exception does not count as under way', async () => {
  let mustThrow = true;
  const { read } = readerWith(async () => {
    if (mustThrow) throw new Error('the module that fetches cannot be loaded');
    return imageOf('a');
  });
  for (let attempt = 0; attempt <= FETCHES_MAX; attempt += 1)
    await assert.rejects(read(COVER_URL), /cannot be loaded/);
  mustThrow = false;
  assert.deepEqual(await read(COVER_URL), { ok: true, value: { cover: imageOf('a') } });
});

/** The node's addresses. 198.41.0.9 and 2a02:8070:1:2::99 are in the same networks, so they are private. */
const OWN_NETWORKS = ['192.168.1.20/24', '198.41.0.5/24', '2a02:8070:1:2:3:4:5:6/64', 'fe80::1/64'];

/** An address such as `64:ff9b::808:808` stands for the IPv4 address in its last 32 bits, here 8.8.8.8. */
const PUBLIC_ADDRESSES =
  '1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 191.255.255.255 192.0.3.1 ' +
  '193.0.0.1 198.17.0.1 198.20.0.1 198.41.1.5 223.255.255.255 2a00:1450:4001:800::2004 ' +
  '2606:4700::1111 2001:4860:4860::8888 2a02:8070:2:2::1 64:ff9b::808:808 64:ff9b::8.8.8.8 ' +
  '0064:ff9b:0:0:0:0:0808:0808';
const NON_PUBLIC_ADDRESSES =
  '0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 ' +
  '169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 ' +
  '198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 ' +
  '198.41.0.9 2a02:8070:1:2::99 :: ::1 ::ffff:8.8.8.8 ::ffff:192.168.1.1 ::8.8.8.8 fc00::1 ' +
  'fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 100::1 2001::1 2001:db8::1 2002:c0a8:101::1 ' +
  '3fff::1 4000::1 64:ff9b::c0a8:101 64:ff9b::10.0.0.1 64:ff9b::1 64:ff9b:: 64:ff9b:1::808:808 ' +
  '64:ff9b::198.41.0.9 localhost 8.8.8 0x08080808 134744072 8.8.8.8%eth0 [2606:4700::1111]';

for (const [title, addresses, expected] of [
  ['an address on the internet is public', PUBLIC_ADDRESSES, true],
  // The blank at the end adds an empty address.
  ['a private, special or invalid address is not public', `${NON_PUBLIC_ADDRESSES} `, false],
] as const) {
  test(title, () => {
    for (const address of addresses.split(' '))
      assert.equal(isPublic(address, OWN_NETWORKS), expected, address);
  });
}

test('an address with the same first 48 bits as an address of the node is not public, even if the network of the node is smaller', () =>
  assert.equal(isPublic('2a00:1:2:44::1', ['2a00:1:2:3::5/128']), false));
