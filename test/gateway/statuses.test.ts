// Statuses of the table of docs/http-api.md, "Errors", over real HTTP: rows for what the gateway refuses by
// itself, and a row for each fault of a backend. After a defect inside the gateway the client gets an error
// or loses its connection, the log has a line, and the process continues.

import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import { BACKENDS } from '../../src/protocol/actor/backends.js';
import { FAULTS, type FaultCode } from '../../src/protocol/actor/faults.js';
import { EventConsumer } from '../consumer/consumer.js';
import { ManualClock } from '../manual-clock.js';
import type { HttpAnswer, HttpRequest } from '../tools/http.js';
import { until } from '../until.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';

const JSON_TYPE = { 'Content-Type': 'application/json' };
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

const post = (path: string, body?: string, headers: Record<string, string> = JSON_TYPE): HttpRequest => ({
  method: 'POST',
  path,
  headers,
  ...(body !== undefined && { body }),
});

function assertProblem(response: HttpAnswer, status: number, code: string): void {
  assert.equal(response.status, status, response.text);
  assert.equal(response.headers['content-type'], 'application/problem+json');
  const document = JSON.parse(response.text) as Record<string, unknown>;
  assert.deepEqual(Object.keys(document), ['type', 'title', 'status', 'detail']);
  assert.equal(document['type'], `urn:tonearm:problem:${code}`);
  assert.equal(document['status'], status);
  assert.notEqual(document['detail'], '');
  assert.equal(response.headers['retry-after'] !== undefined, status === 503);
}

describe('the gateway refuses by itself', () => {
  const under = GatewayUnderTest.up().closeAtEndOf({ after });
  beforeEach(() => {
    under.backends.requests.length = 0;
  });

  const volume = '/audio/server/volume';
  const bodyOf = (bytes: number): string => `{"muted":true}`.padEnd(bytes);
  const rows: [what: string, request: HttpRequest, status: number, code: string][] = [
    ['bad JSON', post(volume, '{'), 400, 'bad-body'],
    ['a bad field', post(volume, '{"volume":2}'), 400, 'bad-body'],
    ['a position before the beginning', post('/players/x/position', '{"position":-1}'), 400, 'bad-body'],
    [
      'a position command without a position',
      post('/players/x/position', '{"track_id":"/1"}'),
      400,
      'bad-body',
    ],
    [
      'a track id that is too long',
      post('/players/x/position', JSON.stringify({ position: 1, track_id: 'x'.repeat(4097) })),
      400,
      'bad-body',
    ],
    ['half a microsecond', post('/players/x/seek', '{"offset":0.5}'), 400, 'bad-body'],
    ['an offset that is too large', post('/players/x/seek', '{"offset":1e300}'), 400, 'bad-body'],
    ['an address with a line break', post('/players/x/tracklist/add', '{"uri":"a\\n"}'), 400, 'bad-body'],
    ['an unknown kind of loop', post('/players/x/loop', '{"loop":"Album"}'), 400, 'bad-body'],
    ['bad percent-encoding', post('/audio/outputs/%zz/mute'), 400, 'bad-path'],
    ['a NUL in a name', post('/audio/outputs/%00/mute'), 400, 'bad-path'],
    // The least value of `keepalive` is 10.
    ['a bad query value', { path: '/events?keepalive=9' }, 400, 'bad-query'],
    ['a bad query value in a HEAD request', { method: 'HEAD', path: '/events?keepalive=9' }, 400, ''],
    ['a route that does not exist', { path: '/nowhere' }, 404, 'not-found'],
    ['a scope that does not exist', post('/services/global/x.service/start'), 404, 'not-found'],
    ['a name that is too long', post(`/services/user/${'x'.repeat(4097)}/start`), 404, 'not-found'],
    ['the wrong method', { method: 'DELETE', path: '/audio' }, 405, 'wrong-method'],
    ['a method that no route has', { method: 'PROPFIND', path: '/audio' }, 405, 'wrong-method'],
    ['a body of 64 KiB and 1 byte', post('/audio/server/mute', bodyOf(64 * 1024 + 1)), 413, 'body-too-large'],
    ['a body of 512 KiB', post('/power/reboot', 'x'.repeat(512 * 1024)), 413, 'body-too-large'],
    [
      'a body of plain text',
      post(volume, '{"volume":1}', { 'Content-Type': 'text/plain' }),
      415,
      'unsupported-type',
    ],
    ['a body without a content type', post(volume, '{"volume":1}', {}), 415, 'unsupported-type'],
    ['a form for a route that takes no body', post('/power/reboot', 'a=b', FORM), 415, 'unsupported-type'],
  ];
  for (const [what, request, status, code] of rows) {
    test(`${what} is ${status}, and no backend is called`, async () => {
      const response = await under.fetch(request);
      // The answer to a HEAD request has no body, so it has no problem document.
      if (request.method === 'HEAD') assert.equal(response.status, status);
      else assertProblem(response, status, code);
      assert.deepEqual(under.backends.requests, []);
    });
  }

  test('a body of exactly 64 KiB is accepted', async () => {
    const response = await under.fetch(post('/audio/server/mute', bodyOf(64 * 1024)));
    assert.equal(response.status, 202);
    assert.equal(under.backends.requests.length, 1);
  });

  test('a POST with Content-Length: 0 is accepted, whatever the content type', async () => {
    const headers = { 'Content-Type': 'text/plain', 'Content-Length': '0' };
    assert.equal((await under.fetch(post('/audio/server/mute', undefined, headers))).status, 202);
  });
});

describe('a refusal of a backend', () => {
  const under = GatewayUnderTest.up().closeAtEndOf({ after });

  const statuses: Record<FaultCode, [status: number, path: string, body?: string]> = {
    'bad-value': [400, '/audio/outputs/3/mute'],
    'no-such-output': [404, '/audio/outputs/3/mute'],
    'no-such-client': [404, '/audio/clients/3/mute'],
    'no-such-input': [404, '/audio/inputs/3/mute'],
    'no-such-port': [404, '/audio/outputs/3/port', '{"port":"headphones"}'],
    'no-such-card': [404, '/audio/cards/3/profile', '{"profile":"off"}'],
    'no-such-profile': [404, '/audio/cards/3/profile', '{"profile":"off"}'],
    'no-such-unit': [404, '/services/user/x.service/start'],
    'no-such-player': [404, '/players/x/play'],
    'no-such-device': [404, '/bluetooth/connect', '{"address":"AA:BB:CC:DD:EE:FF"}'],
    'no-cover': [404, '/players/x/cover'],
    'no-tracklist': [404, '/players/x/tracklist/goto/1'],
    'no-such-track': [404, '/players/x/tracklist/remove/1'],
    'other-track': [409, '/players/x/position', '{"position":1,"track_id":"/1"}'],
    'not-able': [403, '/players/x/next'],
    'no-cookie': [404, '/audio/cookie'],
    'no-volume': [409, '/audio/clients/3/volume', '{"volume":1}'],
    'same-name': [409, '/audio/outputs/3/default'],
    'too-many-listens': [409, '/audio/inputs/3/listen', '{"output":"x"}'],
    'no-ports': [409, '/audio/outputs/3/port', '{"port":"headphones"}'],
    'profile-unavailable': [409, '/audio/cards/3/profile', '{"profile":"off"}'],
    'not-stereo': [409, '/audio/outputs/3/balance', '{"balance":0}'],
    'read-only-scope': [403, '/services/system/x.service/start'],
    'capability-off': [403, '/power/reboot'],
    'not-granted': [403, '/power/power_off'],
    'run-in-progress': [409, '/upgrade/start'],
    blocked: [409, '/bluetooth/power_up'],
    inhibited: [409, '/power/reboot'],
    'in-progress': [409, '/power/reboot'],
    refused: [502, '/services/user/x.service/start'],
    unavailable: [503, '/audio/server/mute'],
    timeout: [504, '/audio/server/mute'],
    internal: [502, '/audio/server/mute'],
  };
  for (const [fault, [status, path, body]] of Object.entries(statuses)) {
    test(`the fault ${fault} is ${status}, with the backend's own detail`, async () => {
      // The line break in this detail must not add a header to the response.
      const detail = `because "${fault}"\r\nX: y`;
      under.backends.answer = { ok: false, error: { fault: fault as FaultCode, detail } };
      const isGet = fault === 'no-cookie' || fault === 'no-cover';
      const response = await under.fetch(isGet ? { path } : post(path, body));
      assertProblem(response, status, fault);
      const document = JSON.parse(response.text) as { title: string; detail: string };
      assert.equal(document.title, FAULTS[fault as FaultCode].title);
      assert.equal(document.detail, detail);
      assert.equal(response.headers['x'], undefined);
    });
  }
});

test('health and the event stream have the reason why a backend is connecting: it has not reported yet', async (t) => {
  const under = new GatewayUnderTest().closeAtEndOf(t);
  const detail = 'it is starting, and has not reported yet';
  const assertReasons = async (): Promise<void> => {
    const { backends } = (await under.json('/health')) as { backends: Record<string, { detail?: string }> };
    const details = Object.entries(backends).map(([name, health]) => [name, health.detail]);
    assert.deepEqual(
      details,
      BACKENDS.map((name) => [name, detail]),
    );
  };
  await assertReasons();
  // The supervisor reports this when it starts the thread. The backend itself has not reported yet, so the
  // reason stays.
  under.gateway.listener.health('audio', { state: 'connecting', since: 0, restarts: 0 });
  await assertReasons();

  const stream = await EventConsumer.open(`http://127.0.0.1:${under.port}/events?snapshot=1`);
  t.after(() => stream.close());
  for (const backend of BACKENDS) {
    const expected = JSON.stringify({ backend, state: 'connecting', detail });
    await stream.until(({ events }) => events.some(({ data }) => data === expected));
  }
});

describe('a backend that is away', () => {
  const under = new GatewayUnderTest().closeAtEndOf({ after });

  test('health names a backend that is away and the reason, with the status 200', async () => {
    const away = { state: 'connecting', since: 0, restarts: 0, detail: 'no socket' } as const;
    under.gateway.listener.health('audio', away);
    type Health = { status: string; backends: Record<string, object>; streams: object };
    const health = (await under.json('/health')) as Health;
    assert.equal(health.status, 'degraded');
    assert.deepEqual(Object.keys(health.backends), BACKENDS);
    assert.deepEqual(health.backends['audio'], { ...away, since: '1970-01-01T00:00:00.000Z' });
    assert.deepEqual(health.streams, { open: 0, closed_slow: 0 });
  });

  test('health is ok when every backend is up', async () => {
    for (const backend of BACKENDS)
      under.gateway.listener.health(backend, { state: 'up', since: 0, restarts: 0 });
    assert.equal(((await under.json('/health')) as { status: string }).status, 'ok');
  });
});

for (const [what, error, status, code] of [
  ['a defect inside the gateway', new Error('a secret'), 500, 'gateway-failed'],
  ['a lack of descriptors', Object.assign(new Error('a secret'), { code: 'EMFILE' }), 503, 'unavailable'],
] as const) {
  test(`${what} is ${status} and a log line, and the next request is served`, async (context) => {
    const under = GatewayUnderTest.up().closeAtEndOf(context);
    under.backends.fault = error;
    const response = await under.fetch(post('/audio/server/mute'));
    assertProblem(response, status, code);
    assert.doesNotMatch(response.text, /secret/);
    assert.deepEqual(under.logged, ['error a request failed inside the gateway']);
    assert.equal((await under.fetch({ path: '/audio' })).status, 200);
  });
}

/** uWebSockets.js throws when it gets this value. The types forbid it, so only a defect can lead to it. */
const UNWRITABLE = {} as never;
/** A snapshot parses the records of the collection `backends`, so the stream fails at this one. */
const UNPARSABLE_JSON = '{';

const DEFECTS: readonly (readonly [what: string, path: string, cause: (under: GatewayUnderTest) => void])[] =
  [
    [
      'a response that cannot be written after a backend has answered',
      '/audio/cookie',
      ({ backends }) => {
        backends.answer = { ok: true, value: { bytes: UNWRITABLE } };
      },
    ],
    [
      'a stream that fails after its beginning',
      '/events?snapshot=1',
      ({ gateway }) =>
        gateway.listener.changes([
          { kind: 'put', collection: 'backends', key: 'audio', json: UNPARSABLE_JSON },
        ]),
    ],
  ];
for (const [what, path, cause] of DEFECTS) {
  test(`${what} ends its connection, and nothing else`, async (context) => {
    const under = GatewayUnderTest.up().closeAtEndOf(context);
    cause(under);
    const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    // The second request comes to a gateway that has failed once.
    for (const _ of [1, 2]) await new RawConnection(under.port).write(head).untilClosed();
    assert.deepEqual(under.logged, Array(2).fill('error a request failed inside the gateway'));
    assert.equal((await under.fetch({ path: '/health' })).status, 200);
    // If the hub still had the failed stream, this would wait until the deadline, so the deadline is short.
    await under.gateway.close(100);
  });
}

/** The longest time for a body to arrive (src/gateway/exchange.ts). */
const BODY_DEADLINE_MS = 10_000;

test('a body that does not arrive in time is refused, and the connection ends', async (context) => {
  const clock = new ManualClock();
  const under = GatewayUnderTest.up(SETTINGS, { clock }).closeAtEndOf(context);
  const head = 'POST /audio/server/mute HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n';
  const connection = new RawConnection(under.port).write(`${head}{"mu`);
  await until('the gateway waits for the body', () => clock.timers === 1);
  clock.advance(BODY_DEADLINE_MS);
  assert.match(await connection.untilClosed(), /^HTTP\/1\.1 400 [\s\S]*did not arrive in time/);
  assert.deepEqual(under.backends.requests, []);
  assert.equal((await under.fetch({ path: '/health' })).status, 200);
});
