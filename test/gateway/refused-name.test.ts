// Answers to a request by a name that is not the node's: when it is a page, and the content of that page. In a browser:
// test/browser/page-trust.test.ts.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { prefersHtml } from '../../src/gateway/refused-name.js';
import { send } from '../tools/http.js';
import { GatewayUnderTest } from './gateway-under-test.js';

const FIREFOX = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

describe('a client that prefers a page', () => {
  const rows: readonly [accept: string, isPreferred: boolean, who: string][] = [
    [FIREFOX, true, 'Firefox'],
    [
      `${FIREFOX.replace('*/*', 'image/avif,image/webp,*/*')},application/signed-exchange;v=b3;q=0.7`,
      true,
      'Chromium',
    ],
    ['Text/HTML', true, 'in capitals'],
    ['text/*, application/json;q=0.5', true, 'any text'],
    ['', false, 'nothing said'],
    ['*/*', false, 'curl, fetch'],
    ['application/json, text/plain, */*', false, 'axios'],
    ['text/event-stream', false, 'EventSource'],
    ['text/html;q=0.5, application/json', false, 'JSON rather'],
    ['text/html, application/problem+json', false, 'both alike'],
    ['text/html;q=0, */*', false, 'anything but a page'],
    ['text/html;q=rubbish', false, 'a weight that is no number'],
  ];
  for (const [accept, isPreferred, who] of rows) {
    test(`${isPreferred ? 'yes' : 'no'}: ${who}`, () => assert.equal(prefersHtml(accept), isPreferred));
  }
});

describe('a refused name', () => {
  const under = GatewayUnderTest.up().within({ after });
  // The page is for people; the OpenAPI document does not describe it.
  const ask = (host: string, accept: string, path = '/ui') =>
    send(under.port, { path, headers: { Host: host, Accept: accept } });

  test('gives a browser 403 with one sentence, and an address that works', async () => {
    const { status, headers, text } = await ask('music.example.org', FIREFOX, '/audio?x=1');
    assert.equal(status, 403);
    assert.equal(headers['content-type'], 'text/html; charset=utf-8');
    assert.match(String(headers['content-security-policy']), /^default-src 'none';/);
    assert.match(text, /not called <b>music\.example\.org<\/b>.*api\.hosts/);
    assert.match(text, new RegExp(`<a href="http://localhost:${under.port}/audio">`));
  });

  test('that is markup is shown as text', async () => {
    const { text } = await ask('<script>alert("1")</script>', FIREFOX, `/'"><img>`);
    assert.doesNotMatch(text, /<script|<img|"1"|'/);
  });

  test('gives a program a problem document', async () => {
    const { status, headers, text } = await ask('music.example.org', '*/*');
    assert.deepEqual([status, headers['content-type']], [403, 'application/problem+json']);
    assert.match(text, /api\.hosts/);
  });
});
