// Tests routes of docs/http-api.md, "Routes", over real HTTP: every POST route, and a part of the GET
// routes.

import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { ROUTES } from '../../src/gateway/routes.js';
import type { Backend } from '../../src/protocol/actor/backends.js';
import type { AudioTarget, Command } from '../../src/protocol/actor/commands.js';
import { GatewayUnderTest } from './gateway-under-test.js';
import type { OpenApi } from './openapi-conformance.js';
import type { BackendRequest } from './scripted-backends.js';

const UNIT_VERBS = ['start', 'stop', 'restart', 'enable', 'disable'] as const;
const PLAYER_VERBS = ['play', 'pause', 'play_pause', 'stop', 'next', 'previous'] as const;
const ADAPTER_VERBS = [
  'power_up',
  'power_down',
  'pairing_mode',
  'pairing_mode/stop',
  'scan',
  'scan/stop',
] as const;
const DEVICE_VERBS = ['connect', 'disconnect', 'forget'] as const;

const namesIn = (body: unknown) => (body as { name: string }[]).map(({ name }) => name);

describe('a gateway with every backend up', () => {
  const under = GatewayUnderTest.up().closeAtEndOf({ after });
  afterEach(() => {
    under.backends.answer = { ok: true, value: {} };
    under.backends.requests.length = 0;
  });

  const SERVER = {
    hostname: 'Kitchen',
    os_platform: 'linux/arm64',
    os_version: 'Debian',
    api_sw: 'tonearm',
    api_version: '1.2.3',
    backends: {
      bluetooth: true,
      mpris: true,
      power: true,
      pulseaudio: true,
      systemd: true,
      upgrade: true,
      zeroconf: false,
      mqtt: false,
    },
    volume_step: 0.05,
    control: true,
  };
  const reads: [path: string, check: (body: unknown) => void][] = [
    ['/server', (body) => assert.deepEqual(body, SERVER)],
    ['/health', (body) => assert.equal((body as { version: string }).version, '1.2.3')],
    ['/openapi.json', (body) => assert.equal((body as OpenApi).openapi, '3.1.0')],
    ['/services', (body) => assert.deepEqual(namesIn(body), ['mpd.service'])],
    ['/audio', (body) => assert.equal(Object.keys(body as object).join(), 'kind,server,outputs,clients')],
    ['/audio/server', (body) => assert.equal((body as { default_sink: string }).default_sink, 'sink-0')],
    ['/audio/outputs', (body) => assert.deepEqual(namesIn(body), ['sink-0', 'sink-1'])],
    ['/audio/clients', (body) => assert.deepEqual(namesIn(body), ['player-7'])],
    ['/upgrade', (body) => assert.equal((body as { can_check: boolean }).can_check, true)],
  ];
  for (const [path, check] of reads) {
    test(`GET ${path} has the same answer with a slash at the end, by HEAD without its body, and by its tag`, async () => {
      check(await under.json(path));
      check(await under.json(`${path}/`));

      const whole = await under.fetch({ path });
      const head = await under.fetch({ method: 'HEAD', path });
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      assert.equal(head.headers['content-type'], 'application/json');

      // The health differs each time, so it has no tag.
      if (path === '/health') return;
      const { etag = '' } = whole.headers;
      assert.equal(head.headers['content-length'], String(Buffer.byteLength(whole.text)));
      assert.match(etag, /^"[\w-]+"$/);
      assert.equal(head.headers.etag, etag);
      assert.match(String(whole.headers['x-cache-updated-at']), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

      const unchanged = await under.fetch({ path, headers: { 'If-None-Match': `"x", ${etag}` } });
      assert.equal(unchanged.status, 304);
      assert.equal(unchanged.headers.etag, etag);
      assert.equal(unchanged.headers['content-length'], undefined);
    });
  }

  const requestTo =
    <B extends Backend>(backend: B) =>
    (command: Command<B>): BackendRequest => ({ backend, command });
  const audio = requestTo('audio');
  const systemd = requestTo('systemd');
  const power = requestTo('power');
  const players = requestTo('players');
  const bluetooth = requestTo('bluetooth');
  const upgrade = requestTo('upgrade');
  type Mutation = readonly [path: string, body: string | undefined, expected: BackendRequest];

  const muteAndVolume = (path: string, target: AudioTarget): Mutation[] => [
    [`${path}/mute`, undefined, audio({ do: 'mute', target })],
    [`${path}/mute`, '{}', audio({ do: 'mute', target })],
    [`${path}/mute`, '{"muted":true}', audio({ do: 'mute', target, muted: true })],
    [`${path}/volume`, '{"volume":0.25}', audio({ do: 'volume', target, volume: 0.25 })],
    [`${path}/volume`, '{"delta":-0.05}', audio({ do: 'delta', target, delta: -0.05 })],
  ];
  const OUTPUT = '/audio/outputs/3';
  const UNIT = '/services/user/mpd%40a.service';
  /** A path may leave out the beginning of a player's bus name. */
  const SHORT_MPV = 'mpv.instance123';
  const MPV = `org.mpris.MediaPlayer2.${SHORT_MPV}`;
  const player = { player: MPV };
  const mutations: readonly Mutation[] = [
    ...muteAndVolume('/audio/server', { kind: 'server' }),
    ...muteAndVolume(OUTPUT, { kind: 'output', ref: '3' }),
    ...muteAndVolume('/audio/outputs/alsa%2Fhdmi%20%C3%A9', { kind: 'output', ref: 'alsa/hdmi é' }),
    ...muteAndVolume('/audio/inputs/mic', { kind: 'input', ref: 'mic' }),
    ...muteAndVolume('/audio/clients/Radio%20%231', { kind: 'client', ref: 'Radio #1' }),
    [`${OUTPUT}/default`, undefined, audio({ do: 'default', output: '3' })],
    [`${OUTPUT}/default`, '{}', audio({ do: 'default', output: '3' })],
    [`${OUTPUT}/default`, 'null', audio({ do: 'default', output: '3' })],
    [`${OUTPUT}/default`, '{"move":true}', audio({ do: 'default', output: '3', move: true })],
    [`${OUTPUT}/port`, '{"port":"headphones"}', audio({ do: 'port', output: '3', port: 'headphones' })],
    [`${OUTPUT}/balance`, '{"balance":-0.25}', audio({ do: 'balance', output: '3', balance: -0.25 })],
    ['/audio/inputs/7/listen', '{"output":2}', audio({ do: 'listen', input: '7', output: '2' })],
    ['/audio/inputs/7/listen/stop', undefined, audio({ do: 'stop-listen', input: '7' })],
    ['/audio/inputs/7/default', '{}', audio({ do: 'default', input: '7' })],
    ['/audio/inputs/7/port', '{"port":"line"}', audio({ do: 'port', input: '7', port: 'line' })],
    ['/audio/inputs/7/balance', '{"balance":1}', audio({ do: 'balance', input: '7', balance: 1 })],
    ['/audio/sleep', '{"minutes":30}', audio({ do: 'sleep', minutes: 30 })],
    ['/audio/sleep', '{"minutes":1,"fade":0}', audio({ do: 'sleep', minutes: 1, fade: 0 })],
    ['/audio/sleep/stop', undefined, audio({ do: 'sleep/stop' })],
    ['/audio/cards/%3A/profile', '{"profile":"off"}', audio({ do: 'profile', card: ':', profile: 'off' })],
    ['/audio/clients/7/output', '{"output":"s"}', audio({ do: 'move', client: '7', output: 's' })],
    ['/audio/clients/7/output', '{"output":1}', audio({ do: 'move', client: '7', output: '1' })],
    ...UNIT_VERBS.map((verb): Mutation => {
      return [`${UNIT}/${verb}`, undefined, systemd({ do: verb, scope: 'user', unit: 'mpd@a.service' })];
    }),
    ['/services/system/a/stop', undefined, systemd({ do: 'stop', scope: 'system', unit: 'a' })],
    ['/power/power_off', undefined, power({ do: 'poweroff' })],
    ['/power/reboot', undefined, power({ do: 'reboot' })],
    ['/players/pause', undefined, players({ do: 'pause_all' })],
    ...PLAYER_VERBS.map((verb): Mutation => {
      return [`/players/${SHORT_MPV}/${verb}`, undefined, players({ do: verb, ...player })];
    }),
    [`/players/${MPV}/seek`, '{"offset":-5}', players({ do: 'seek', ...player, offset: -5 })],
    [`/players/${MPV}/position`, '{"position":0}', players({ do: 'position', ...player, position: 0 })],
    [
      `/players/${MPV}/position`,
      '{"position":1,"track_id":"/track/1"}',
      players({ do: 'position', ...player, position: 1, track_id: '/track/1' }),
    ],
    [`/players/${MPV}/volume`, '{"volume":0.25}', players({ do: 'volume', ...player, volume: 0.25 })],
    [`/players/${MPV}/loop`, '{"loop":"Track"}', players({ do: 'loop', ...player, loop: 'Track' })],
    [`/players/${MPV}/shuffle`, '{"shuffle":true}', players({ do: 'shuffle', ...player, shuffle: true })],
    [`/players/${MPV}/tracklist/goto/%2Fa%2F1`, undefined, players({ do: 'goto', ...player, track: '/a/1' })],
    [`/players/${MPV}/tracklist/remove/4`, undefined, players({ do: 'remove', ...player, track: '4' })],
    [
      `/players/${MPV}/tracklist/add`,
      '{"uri":"http://a/","after_track":"4","set_as_current":true}',
      players({ do: 'add', ...player, uri: 'http://a/', after_track: '4', set_as_current: true }),
    ],
    ...ADAPTER_VERBS.map((verb): Mutation => [`/bluetooth/${verb}`, undefined, bluetooth({ do: verb })]),
    ...DEVICE_VERBS.map((verb): Mutation => {
      const address = 'aa:BB:CC:DD:EE:FF';
      return [`/bluetooth/${verb}`, JSON.stringify({ address }), bluetooth({ do: verb, address })];
    }),
    ['/upgrade/check', undefined, upgrade({ do: 'check' })],
    ['/upgrade/start', undefined, upgrade({ do: 'start' })],
  ];
  for (const [path, body, expected] of mutations) {
    test(`POST ${path} with ${body ?? 'no body'} is accepted, and the backend gets its command`, async () => {
      const bodyAndType = body !== undefined && { headers: { 'Content-Type': 'application/json' }, body };
      const { status, text, headers } = await under.fetch({ method: 'POST', path, ...bodyAndType });
      assert.deepEqual([status, text, headers['content-length']], [202, '', '0']);
      assert.deepEqual(under.backends.requests, [expected]);
    });
  }

  test('every POST route is tried at least once', () => {
    for (const route of ROUTES.filter(({ method }) => method === 'POST')) {
      const pattern = new RegExp(`^${route.path.replace(/\{\w+\}/g, '[^/]+')}$`);
      const isTried = mutations.some(([path]) => pattern.test(path));
      assert.ok(isTried, route.path);
    }
  });

  test('a path answers other methods with 405, and names its own methods in Allow', async () => {
    const rows: [method: string, path: string, allow: string][] = [
      ['POST', '/audio', 'GET, HEAD, OPTIONS'],
      ['PUT', '/audio', 'GET, HEAD, OPTIONS'],
      ['DELETE', '/audio/server/mute', 'POST, OPTIONS'],
      ['GET', '/audio/server/mute', 'POST, OPTIONS'],
      ['HEAD', '/power/reboot', 'POST, OPTIONS'],
      ['PATCH', '/events', 'GET, HEAD, OPTIONS'],
      ['POST', '/ui', 'GET, HEAD, OPTIONS'],
      ['TRACE', '/server', 'GET, HEAD, OPTIONS'],
    ];
    for (const [method, path, allow] of rows) {
      const response = await under.fetch({ method, path });
      assert.equal(response.status, 405, `${method} ${path}`);
      assert.equal(response.headers.allow, allow);
    }
  });

  test('OPTIONS without Origin is answered with the methods of the path', async () => {
    const response = await under.fetch({ method: 'OPTIONS', path: '/audio/server/mute/' });
    assert.equal(response.status, 204);
    assert.equal(response.headers.allow, 'POST, OPTIONS');
    assert.equal(response.headers['access-control-allow-origin'], undefined);
    assert.equal((await under.fetch({ method: 'OPTIONS', path: '/nowhere' })).status, 404);
  });

  test('GET /audio ignores a query, also one that is not valid percent-encoding', async () => {
    assert.equal((await under.fetch({ path: '/audio?keepalive=1&x=%zz' })).status, 200);
  });

  test('the cookie is sent as bytes and must not be stored', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    under.backends.answer = { ok: true, value: { bytes } };
    const response = await under.fetch({ path: '/audio/cookie' });
    assert.equal(response.status, 200);
    assert.equal(response.headers['content-type'], 'application/octet-stream');
    assert.equal(response.headers['content-disposition'], 'attachment; filename="cookie"');
    assert.equal(response.headers['content-length'], '256');
    assert.equal(response.headers['cache-control'], 'no-store');
  });

  test('each GET of the state of power asks the backend, and the ETag changes with the state', async () => {
    under.backends.answer = { ok: true, value: { text: '{"reboot":true,"power_off":false}' } };
    const first = await under.fetch({ path: '/power/' });
    const second = await under.fetch({ path: '/power' });
    assert.deepEqual(JSON.parse(first.text), { reboot: true, power_off: false });
    assert.equal(second.headers.etag, first.headers.etag);
    const ifChanged = { 'If-None-Match': first.headers.etag ?? '' };
    assert.equal((await under.fetch({ path: '/power/', headers: ifChanged })).status, 304);

    under.backends.answer = { ok: true, value: { text: '{"reboot":false,"power_off":false}' } };
    assert.equal((await under.fetch({ path: '/power/', headers: ifChanged })).status, 200);
  });

  const LOG = '/services/user/a%2Fb.service/log';

  test('the query of a log decides how many lines the backend sends, by default 20, and each log has its own ETag', async () => {
    under.backends.answer = { ok: true, value: { text: '[]' } };
    const paths = [`${LOG}/`, `${LOG}?lines=1`, `${LOG}?x=%zz&lines=200`];
    for (const path of paths) assert.deepEqual(await under.json(path), []);
    assert.deepEqual(
      under.backends.requests,
      [20, 1, 200].map((lines) => systemd({ do: 'log', scope: 'user', unit: 'a/b.service', lines })),
    );

    const { headers } = await under.fetch({ path: LOG });
    const ifChanged = { 'If-None-Match': headers.etag ?? '' };
    assert.equal((await under.fetch({ path: LOG, headers: ifChanged })).status, 304);
    const logOfOtherUnit = await under.fetch({ path: LOG.replace('b.service', 'c.service') });
    assert.notEqual(logOfOtherUnit.headers.etag, headers.etag, 'the log of another unit is another answer');
    // The gateway remembers an answer for each unit, so the other unit has not replaced this answer.
    assert.equal((await under.fetch({ path: LOG, headers: ifChanged })).status, 304);

    assert.deepEqual(await under.json('/upgrade/log?lines=7'), []);
    assert.deepEqual(under.backends.requests.at(-1), {
      backend: 'upgrade',
      command: { do: 'log', lines: 7 },
    });
  });

  for (const query of ['lines=0', 'lines=201', 'lines=', 'lines=1.5', 'lines=1&lines=1']) {
    test(`GET of a log with ${query} is 400, and the answer names the parameter`, async () => {
      const { status, text } = await under.fetch({ path: `${LOG}?${query}` });
      assert.equal(status, 400);
      assert.match(text, /bad-query.*lines must be given once, as 1 to 200/);
      assert.deepEqual(under.backends.requests, []);
    });
  }

  test('GET of a log in a scope that does not exist is 404', async () => {
    assert.equal((await under.fetch({ path: LOG.replace('user', 'session') })).status, 404);
  });
});
