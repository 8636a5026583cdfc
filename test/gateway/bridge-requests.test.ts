// What a bridge asks is answered as over HTTP, with every refusal; it is compared with what HTTP answers to the same.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { BridgeRequest } from '../../src/protocol/actor/messages.js';
import { GatewayUnderTest } from './gateway-under-test.js';
import { bringUp, put } from './scripted-backends.js';

const MUTE = '/audio/outputs/sink-0/mute';
const GET = (path: string): BridgeRequest => ({ method: 'GET', path });
const POST = (path: string, body?: string): BridgeRequest => ({
  method: 'POST',
  path,
  ...(body !== undefined && { body }),
});

describe('a bridge that asks', () => {
  const under = GatewayUnderTest.up().within({ after });
  const ask = (request: BridgeRequest) => under.gateway.listener.asked('discovery', request);
  const status = async (request: BridgeRequest) => (await ask(request)).status;

  const rows: readonly [what: string, request: BridgeRequest, expected: number][] = [
    ['records', GET('/audio/outputs'), 200],
    ['the whole of a backend', GET('/upgrade'), 200],
    ['the node', GET('/server'), 200],
    ['a route that does not exist', GET('/no/such'), 404],
    ['a method that is not there', POST('/server'), 405],
    ['bad percent-encoding', GET('/audio/outputs/%ff'), 400],
    ['a scope that is not there', POST('/services/other/a.service/start'), 404],
    ['a body that is not JSON', POST('/audio/server/volume', '{'), 400],
    ['a body with a bad field', POST('/audio/server/volume', '{"volume":2}'), 400],
    ['no body where one is needed', POST('/audio/server/volume'), 400],
    ['a body that is too large', POST(MUTE, `{"muted":${' '.repeat(65 * 1024)}true}`), 413],
    ['a command', POST(MUTE, '{"muted":true}'), 202],
  ];
  for (const [what, request, expected] of rows) {
    test(`for ${what}: ${expected}, and the words of HTTP`, async () => {
      const reply = await ask(request);
      assert.equal(reply.status, expected, reply.body);
      const { body, ...rest } = request;
      const headers = { 'Content-Type': 'application/json' };
      const http = await under.fetch(body === undefined ? rest : { ...rest, body, headers });
      assert.deepEqual(reply, { status: http.status, body: http.text });
    });
  }

  test('has the command carried out, once', async () => {
    under.backends.asked.length = 0;
    await ask(POST('/audio/clients/a%20%2F%20b/mute', '{"muted":false}'));
    const target = { kind: 'client', ref: 'a / b' };
    assert.deepEqual(under.backends.asked, [
      { backend: 'audio', command: { do: 'mute', target, muted: false } },
    ]);
  });

  test("gets a backend's refusal as a problem document", async () => {
    under.backends.answer = { ok: false, fault: 'inhibited', detail: 'Somebody writes' };
    const { status: got, body } = await ask(POST('/power/reboot'));
    under.backends.answer = { ok: true };
    assert.equal(got, 409);
    assert.deepEqual(JSON.parse(body), {
      type: 'urn:tonearm:problem:inhibited',
      title: 'The action is blocked by an inhibitor',
      status: 409,
      detail: 'Somebody writes',
    });
  });

  test('is refused while the backend is away', async () => {
    under.gateway.listener.health('audio', { state: 'connecting', since: 0, restarts: 0 });
    assert.equal(await status(GET('/audio')), 503);
    bringUp(under.gateway.listener, ['audio']);
  });

  test('is answered also where the gateway itself fails, and where there would be a stream', async () => {
    under.backends.isBroken = true;
    assert.equal(await status(POST(MUTE)), 500);
    under.backends.isBroken = false;
    assert.equal(await status(GET('/events')), 500);
    assert.equal(under.logged.splice(0).length, 2);
  });

  test('may ask so much at a time, and no more', async () => {
    const settle = under.backends.hold();
    const many = Array.from({ length: 65 }, () => status(POST(MUTE)));
    assert.equal(await many[64], 503);
    assert.equal((await under.fetch({ path: '/server' })).status, 200);
    settle({ ok: true });
    assert.deepEqual(new Set(await Promise.all(many.slice(0, 64))), new Set([202]));
    under.backends.answer = { ok: true };
    assert.equal(await status(POST(MUTE)), 202);
  });

  test('learns in one message that a backend has left and that its records have gone', async (context) => {
    const { gateway, told } = GatewayUnderTest.up().within(context);
    gateway.listener.pulled('mqtt', true);
    gateway.listener.pulled('mqtt', false);
    const before = told.length;
    gateway.listener.health('audio', { state: 'connecting', since: 1, restarts: 0 });
    const keys = told
      .slice(before)
      .map(({ changes }) => changes.map((each) => `${each.kind} ${each.collection} ${each.key}`));
    assert.deepEqual(keys, [
      ['put backends audio', 'drop audio.outputs 0', 'drop audio.outputs 1', 'drop audio.clients 7'],
    ]);
  });

  test('is refused when the service ends, and told what waits for it', async () => {
    const { listener } = under.gateway;
    listener.pulled('mqtt', true);
    const reboot = put('power.action', '', { action: 'reboot' });
    listener.changes('power', [reboot]);
    assert.equal(under.told.length, 1, 'it has not taken in the first message');
    const closed = under.gateway.close(1000);
    assert.equal(await status(GET('/server')), 503);
    await closed;
    assert.deepEqual(under.told.at(-1), { bridge: 'mqtt', isWhole: false, changes: [reboot] });
  });
});
