// Tests the page's routes (docs/http-api.md, "The page") over real HTTP: the bytes that a client gets, how
// long the client may keep them, and which sites may frame the page. It also tests the answer to a request
// whose Host is no name of the node. test/contract/access.test.ts tests which requests are refused.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { prefersHtml } from '../../src/gateway/refused-name.js';
import { send } from '../tools/http.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { drop, put } from './scripted-backends.js';

const policyOf = async (under: GatewayUnderTest): Promise<string> =>
  String((await under.fetch({ path: '/ui' })).headers['content-security-policy']);

describe('the page', () => {
  const under = GatewayUnderTest.up().closeAtEndOf({ after });

  for (const path of ['/ui', '//ui', '/%75i']) {
    test(`GET ${path} is the document; a browser asks each time, and gets 304 if it is unchanged`, async () => {
      const first = await under.fetch({ path });
      assert.equal(first.status, 200);
      assert.equal(first.text, '<!doctype html>');
      assert.equal(first.headers['content-type'], 'text/html; charset=utf-8');
      assert.equal(first.headers['cache-control'], 'no-cache');
      const etag = first.headers.etag ?? '';
      const second = await under.fetch({ path, headers: { 'If-None-Match': etag } });
      assert.equal(second.status, 304);
      assert.equal(second.headers.etag, etag);
    });
  }

  /** Behind a proxy, a browser requests a path with a prefix. The node gets the path without the prefix. */
  const redirects = [
    { prefix: '', path: '/' },
    { prefix: '/kitchen', path: '/' },
    { prefix: '', path: '/ui/' },
    { prefix: '/kitchen', path: '/ui/' },
    { prefix: '', path: '/ui//' },
    { prefix: '/kitchen', path: '/ui///' },
  ];
  for (const { prefix, path } of redirects) {
    test(`GET ${path}, for which a browser requests ${prefix}${path}, is permanently redirected to ${prefix}/ui`, async () => {
      const { status, headers } = await under.fetch({ path });
      assert.equal(status, 308);
      const { pathname } = new URL(headers.location ?? '', `http://node${prefix}${path}`);
      assert.equal(pathname, `${prefix}/ui`);
    });
  }

  for (const [path, location] of [
    ['/?view=now', 'ui?view=now'],
    ['/ui/?only=outputs,players', '../ui?only=outputs,players'],
    ['/ui/?name=K%C3%BCche%0d%0aX:%20y', '../ui?name=K%C3%BCche%0d%0aX:%20y'],
    ['/ui//?view=now', '../../ui?view=now'],
    ['/%75i/', '../ui'],
    ['/?', 'ui'],
  ] as const) {
    test(`GET ${path} leads to ${location}`, async () => {
      const { status, headers } = await under.fetch({ path });
      assert.deepEqual([status, headers.location], [308, location]);
    });
  }

  /** `text` is the file in this coding (`PAGE` in gateway-under-test.ts). */
  const encodings: readonly [accepted: string, coding: string | undefined, text: string][] = [
    ['gzip, deflate, br', 'br', 'br 1'],
    ['gzip, deflate', 'gzip', 'gzip 1'],
    ['GZIP;q=0.5', 'gzip', 'gzip 1'],
    ['br;q=0, gzip;q=0.0', undefined, '1'],
    ['', undefined, '1'],
  ];
  for (const [accepted, coding, text] of encodings) {
    test(`a client that accepts ${JSON.stringify(accepted)} gets a file ${coding ? `in ${coding}` : 'as it is'}`, async () => {
      const file = await under.fetch({ path: '/ui/app-1.js', headers: { 'Accept-Encoding': accepted } });
      assert.equal(file.status, 200);
      assert.equal(file.text, text);
      assert.equal(file.headers['content-encoding'], coding);
      assert.equal(file.headers['content-type'], 'text/javascript; charset=utf-8');
      assert.equal(file.headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.match(String(file.headers['vary']), /Accept-Encoding/);
      assert.equal(file.headers['x-content-type-options'], 'nosniff');
    });
  }

  // The document is served only at `/ui`, because clients may keep a file below `/ui/` for ever.
  for (const path of ['/ui/index.html', '/ui/none.js', '/ui/..%2Fapp-1.js', '/ui/a/b', '/ui/app-1.js.gz']) {
    test(`GET ${path} is 404`, async () => {
      assert.equal((await under.fetch({ path })).status, 404);
    });
  }

  test('the policy lets the page load nothing from elsewhere, and run no text as a script', async () => {
    const policy = await policyOf(under);
    assert.match(policy, /default-src 'none';.*script-src 'self';.*require-trusted-types-for 'script'/);
    assert.doesNotMatch(policy, /unsafe-|\*|https?:|data:/);
  });
});

test('the policy of each document names the nodes that the page may speak to at that time', async (context) => {
  const settings = { ...SETTINGS, discovery: { ...SETTINGS.discovery, enabled: true } };
  const under = GatewayUnderTest.up(settings).closeAtEndOf(context);
  const tagOf = async () => (await under.fetch({ path: '/ui' })).headers['etag'] ?? '';
  const oldTag = await tagOf();
  // This node's page may speak to the nodes of `nodes.policy`. The pages of `nodes.origins` may speak to
  // this node, which alone does not bring their nodes into the policy.
  const attic = put('nodes.policy', 'http://10.9.0.7:8018', 'attic');
  const cellar = put('nodes.origins', 'http://10.9.0.8:8018', 'cellar');
  under.gateway.listener.changes([attic, cellar]);
  const newTag = await tagOf();
  assert.match(
    await policyOf(under),
    /img-src 'self' http:\/\/10\.9\.0\.7:8018; connect-src 'self' http:\/\/10\.9\.0\.7:8018;/,
  );
  assert.match(await policyOf(under), /script-src 'self'; style-src 'self'; manifest-src 'self';/);
  const statusFor = async (tag: string) =>
    (await under.fetch({ path: '/ui', headers: { 'If-None-Match': tag } })).status;
  assert.deepEqual([await statusFor(oldTag), await statusFor(newTag)], [200, 304]);
  under.gateway.listener.changes([drop('nodes.policy', attic.key)]);
  assert.doesNotMatch(await policyOf(under), /10\.9\.0\.7/);
});

describe('the sites that may frame the page', () => {
  const rows: readonly [origins: readonly string[], ancestors: string][] = [
    [[], "'self'"],
    [['https://home.example', 'capacitor://localhost'], "'self' https://home.example capacitor://localhost"],
    [['https://home.example', '*'], '*'],
  ];
  for (const [origins, ancestors] of rows) {
    test(`api.cors.origins ${JSON.stringify(origins)} lets these frame the page: ${ancestors}`, async (context) => {
      const settings = { ...SETTINGS, api: { ...SETTINGS.api, cors: { origins } } };
      const under = GatewayUnderTest.up(settings).closeAtEndOf(context);
      assert.ok((await policyOf(under)).endsWith(`frame-ancestors ${ancestors}`));
    });
  }
});

test('a page that a client has stored is sent anew after a reload that changes who may frame it', async (context) => {
  const under = GatewayUnderTest.up().closeAtEndOf(context);
  const storedTag = (await under.fetch({ path: '/ui' })).headers.etag ?? '';
  const api = { ...SETTINGS.api, cors: { origins: ['https://home.example'] } };
  const stoppedChildren: readonly never[] = [];
  // `reconfigure` needs the addresses, too. The gateway listens at this one already.
  under.gateway.reconfigure({ ...SETTINGS, api, bind: ['127.0.0.1'] }, stoppedChildren);
  const revalidated = await under.fetch({ path: '/ui', headers: { 'If-None-Match': storedTag } });
  assert.equal(revalidated.status, 200);
  assert.match(
    String(revalidated.headers['content-security-policy']),
    /frame-ancestors 'self' https:\/\/home\.example$/,
  );
});

const FIREFOX = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const CHROMIUM =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;q=0.7';

describe('the Accept header of a client says whether it prefers a page', () => {
  const rows: readonly [accept: string, isPreferred: boolean, client: string][] = [
    [FIREFOX, true, 'Firefox'],
    [CHROMIUM, true, 'Chromium'],
    ['Text/HTML', true, 'a type in capitals'],
    ['text/*, application/json;q=0.5', true, 'any text'],
    ['', false, 'no Accept header'],
    ['*/*', false, 'curl, fetch'],
    ['application/json, text/plain, */*', false, 'axios'],
    ['text/event-stream', false, 'EventSource'],
    ['text/html;q=0.5, application/json', false, 'JSON first'],
    ['text/html, application/problem+json', false, 'both equal'],
    ['text/html;q=0, */*', false, 'anything but a page'],
    ['text/html;q=rubbish', false, 'a weight that is no number'],
  ];
  for (const [accept, isPreferred, client] of rows)
    test(`Accept: ${accept} (${client}) ${isPreferred ? 'prefers' : 'does not prefer'} a page`, () =>
      assert.equal(prefersHtml(accept), isPreferred));
});

describe('a refused name', () => {
  const under = GatewayUnderTest.up().closeAtEndOf({ after });
  // `fetch` checks answers against the OpenAPI document, which does not describe this page for people.
  const ask = (host: string, accept: string, path = '/ui') =>
    send(under.port, { path, headers: { Host: host, Accept: accept } });

  test('a refused name gives a browser 403 with one sentence, and an address that works', async () => {
    const { status, headers, text } = await ask('music.example.org', FIREFOX, '/audio?x=1');
    assert.equal(status, 403);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    assert.match(String(headers['content-security-policy']), /^default-src 'none';/);
    assert.match(text, /not called <b>music\.example\.org<\/b>.*api\.hosts/);
    assert.match(text, new RegExp(`<a href="http://localhost:${under.port}/audio">`));
  });

  test('a refused name that is markup is displayed as text', async () => {
    const { text } = await ask('<script>alert("1")</script>', FIREFOX, `/'"><img>`);
    assert.doesNotMatch(text, /<script|<img/);
    // The name has `"1"`, and the path has a single quote. The page itself has neither.
    assert.doesNotMatch(text, /"1"/);
    assert.doesNotMatch(text, /'/);
  });

  test('a refused name gives a program a problem document', async () => {
    const { status, headers, text } = await ask('music.example.org', '*/*');
    assert.deepEqual([status, headers['content-type']], [403, 'application/problem+json']);
    assert.match(text, /api\.hosts/);
  });
});
