// The routes of contract section 3, a row per line, over real HTTP.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { ROUTES, type RouteSettings } from '../../src/gateway/routes.js';
import { GatewayUnderTest, SETTINGS } from './gateway-under-test.js';
import type { OpenApi } from './openapi-conformance.js';
import type { Asked } from './scripted-backends.js';

describe('every route with every backend', () => {
  const under = GatewayUnderTest.up();
  after(() => under.close());

  const reads: [path: string, check: (body: unknown) => void][] = [
    [
      '/server',
      (body) =>
        assert.deepEqual(body, {
          hostname: 'Kitchen',
          os_platform: 'linux/arm64',
          os_version: 'Debian',
          api_sw: 'tonearm',
          api_version: '1.2.3',
          backends: {
            bluetooth: false,
            mpris: true,
            power: true,
            pulseaudio: true,
            systemd: true,
            upgrade: true,
            zeroconf: false,
            mqtt: false,
          },
        }),
    ],
    ['/health', (body) => assert.equal((body as { version: string }).version, '1.2.3')],
    ['/openapi.json', (body) => assert.equal((body as OpenApi).openapi, '3.1.0')],
    ['/services', (body) => assert.deepEqual(namesIn(body), ['mpd.service'])],
    [
      '/audio',
      (body) => assert.deepEqual(Object.keys(body as object), ['kind', 'server', 'outputs', 'clients']),
    ],
    ['/audio/server', (body) => assert.equal((body as { default_sink: string }).default_sink, 'sink-0')],
    ['/audio/outputs', (body) => assert.deepEqual(namesIn(body), ['sink-0', 'sink-1'])],
    ['/audio/clients', (body) => assert.deepEqual(namesIn(body), ['player-7'])],
    ['/upgrade', (body) => assert.equal((body as { can_check: boolean }).can_check, true)],
  ];
  for (const [path, check] of reads) {
    test(`GET ${path}, with and without slash, as HEAD, and 304`, async () => {
      check(await under.json(path));
      check(await under.json(`${path}/`));
      const whole = await under.fetch({ path });
      const head = await under.fetch({ method: 'HEAD', path });
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      assert.equal(head.headers['content-type'], 'application/json');
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

  const mute = (path: string, target: object): [string, string | undefined, Asked][] => [
    [`${path}/mute`, undefined, { backend: 'audio', command: { do: 'mute', target } as never }],
    [`${path}/mute`, '{}', { backend: 'audio', command: { do: 'mute', target } as never }],
    [
      `${path}/mute`,
      '{"muted":true}',
      { backend: 'audio', command: { do: 'mute', target, muted: true } as never },
    ],
    [
      `${path}/volume`,
      '{"volume":0.25}',
      { backend: 'audio', command: { do: 'volume', target, volume: 0.25 } as never },
    ],
    [
      `${path}/volume`,
      '{"delta":-0.05}',
      { backend: 'audio', command: { do: 'delta', target, delta: -0.05 } as never },
    ],
  ];
  const MPV = 'org.mpris.MediaPlayer2.mpv.instance123';
  const playerVerbs = ['play', 'pause', 'play_pause', 'stop', 'next', 'previous'] as const;
  const verbs = ['start', 'stop', 'restart', 'enable', 'disable'] as const;
  const mutations: [path: string, body: string | undefined, asked: Asked][] = [
    ...mute('/audio/server', { kind: 'server' }),
    ...mute('/audio/outputs/3', { kind: 'output', ref: '3' }),
    ...mute('/audio/outputs/alsa%2Fhdmi%20%C3%A9', { kind: 'output', ref: 'alsa/hdmi é' }),
    ...mute('/audio/clients/Radio%20%231', { kind: 'client', ref: 'Radio #1' }),
    ['/audio/outputs/3/default', undefined, { backend: 'audio', command: { do: 'default', output: '3' } }],
    ['/audio/outputs/3/default', '{}', { backend: 'audio', command: { do: 'default', output: '3' } }],
    [
      '/audio/outputs/3/port',
      '{"port":"analog-output-headphones"}',
      { backend: 'audio', command: { do: 'port', output: '3', port: 'analog-output-headphones' } },
    ],
    [
      '/audio/outputs/sink-1/balance',
      '{"balance":-0.25}',
      { backend: 'audio', command: { do: 'balance', output: 'sink-1', balance: -0.25 } },
    ],
    [
      '/audio/clients/7/output',
      '{"output":"sink-1"}',
      { backend: 'audio', command: { do: 'move', client: '7', output: 'sink-1' } },
    ],
    [
      '/audio/clients/7/output',
      '{"output":1}',
      { backend: 'audio', command: { do: 'move', client: '7', output: '1' } },
    ],
    ...verbs.map((verb): [string, undefined, Asked] => [
      `/services/user/player%40kitchen.service/${verb}`,
      undefined,
      { backend: 'systemd', command: { do: verb, scope: 'user', unit: 'player@kitchen.service' } },
    ]),
    [
      '/services/system/mpd.service/start',
      undefined,
      { backend: 'systemd', command: { do: 'start', scope: 'system', unit: 'mpd.service' } },
    ],
    ['/power/power_off', undefined, { backend: 'power', command: { do: 'poweroff' } }],
    ['/power/reboot', undefined, { backend: 'power', command: { do: 'reboot' } }],
    ...playerVerbs.map((verb): [string, undefined, Asked] => [
      `/players/mpv.instance123/${verb}`,
      undefined,
      { backend: 'players', command: { do: verb, player: MPV } },
    ]),
    [
      `/players/${MPV}/seek`,
      '{"offset":-5000000}',
      { backend: 'players', command: { do: 'seek', player: MPV, offset: -5_000_000 } },
    ],
    [
      `/players/${MPV}/position`,
      '{"position":0}',
      { backend: 'players', command: { do: 'position', player: MPV, position: 0 } },
    ],
    [
      `/players/${MPV}/position`,
      '{"position":1,"track_id":"/track/1"}',
      { backend: 'players', command: { do: 'position', player: MPV, position: 1, trackId: '/track/1' } },
    ],
    [
      `/players/${MPV}/volume`,
      '{"volume":0.25}',
      { backend: 'players', command: { do: 'volume', player: MPV, volume: 0.25 } },
    ],
    [
      `/players/${MPV}/loop`,
      '{"loop":"Track"}',
      { backend: 'players', command: { do: 'loop', player: MPV, loop: 'Track' } },
    ],
    [
      `/players/${MPV}/shuffle`,
      '{"shuffle":true}',
      { backend: 'players', command: { do: 'shuffle', player: MPV, shuffle: true } },
    ],
    ['/upgrade/check', undefined, { backend: 'upgrade', command: { do: 'check' } }],
    ['/upgrade/start', undefined, { backend: 'upgrade', command: { do: 'start' } }],
  ];
  for (const [path, body, asked] of mutations) {
    for (const slash of ['', '/']) {
      test(`POST ${path}${slash} ${body ?? 'without body'}`, async () => {
        under.backends.asked.length = 0;
        const headers: Record<string, string> =
          body === undefined ? {} : { 'Content-Type': 'application/json' };
        const sent = { method: 'POST', path: path + slash, headers, ...(body === undefined ? {} : { body }) };
        const response = await under.fetch(sent);
        assert.equal(response.status, 202, response.text);
        assert.equal(response.text, '');
        assert.equal(response.headers['content-length'], '0');
        assert.deepEqual(under.backends.asked, [asked]);
      });
    }
  }

  test('every mutation of the table is tried above', () => {
    const patterns = ROUTES.filter(({ method }) => method === 'POST').map(
      ({ path }) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
    );
    for (const pattern of patterns)
      assert.ok(
        mutations.some(([path]) => pattern.test(path)),
        String(pattern),
      );
  });

  test('a path has 405 for other methods, with Allow', async () => {
    const rows: [method: string, path: string, allow: string][] = [
      ['POST', '/audio', 'GET, HEAD, OPTIONS'],
      ['PUT', '/audio', 'GET, HEAD, OPTIONS'],
      ['DELETE', '/audio/server/mute', 'POST, OPTIONS'],
      ['GET', '/audio/server/mute', 'POST, OPTIONS'],
      ['HEAD', '/power/reboot', 'POST, OPTIONS'],
      ['PATCH', '/events', 'GET, HEAD, OPTIONS'],
      ['TRACE', '/server', 'GET, HEAD, OPTIONS'],
    ];
    for (const [method, path, allow] of rows) {
      const response = await under.fetch({ method, path });
      assert.equal(response.status, 405, `${method} ${path}`);
      assert.equal(response.headers.allow, allow);
    }
  });

  test('OPTIONS without Origin names the methods', async () => {
    const response = await under.fetch({ method: 'OPTIONS', path: '/audio/server/mute/' });
    assert.equal(response.status, 204);
    assert.equal(response.headers.allow, 'POST, OPTIONS');
    assert.equal(response.headers['access-control-allow-origin'], undefined);
    assert.equal((await under.fetch({ method: 'OPTIONS', path: '/nowhere' })).status, 404);
  });

  test('queries mean nothing to other routes than the stream', async () => {
    assert.equal((await under.fetch({ path: '/audio?keepalive=1&x=%zz' })).status, 200);
  });

  test('the cookie comes as bytes and is not to be kept', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    under.backends.answer = { ok: true, bytes };
    const response = await under.fetch({ path: '/audio/cookie' });
    under.backends.answer = { ok: true };
    assert.equal(response.status, 200);
    assert.equal(response.headers['content-type'], 'application/octet-stream');
    assert.equal(response.headers['content-disposition'], 'attachment; filename="cookie"');
    assert.equal(response.headers['content-length'], '256');
    assert.equal(response.headers['cache-control'], 'no-store');
  });

  test('power is asked for each time, and tagged by its text', async () => {
    under.backends.answer = { ok: true, text: '{"reboot":true,"power_off":false}' };
    const [first, second] = [await under.fetch({ path: '/power/' }), await under.fetch({ path: '/power' })];
    assert.deepEqual(JSON.parse(first.text), { reboot: true, power_off: false });
    assert.equal(second.headers.etag, first.headers.etag);
    const condition = { 'If-None-Match': first.headers.etag ?? '' };
    assert.equal((await under.fetch({ path: '/power/', headers: condition })).status, 304);
    under.backends.answer = { ok: true, text: '{"reboot":false,"power_off":false}' };
    assert.equal((await under.fetch({ path: '/power/', headers: condition })).status, 200);
    under.backends.answer = { ok: true };
  });

  test('a change gives a new tag and a new body', async () => {
    const before = await under.fetch({ path: '/audio/clients' });
    under.gateway.listener.changes('audio', [{ kind: 'drop', collection: 'audio.clients', key: '7' }]);
    const condition = { 'If-None-Match': before.headers.etag ?? '' };
    const later = await under.fetch({ path: '/audio/clients', headers: condition });
    assert.equal(later.status, 200);
    assert.equal(later.text, '[]');
  });
});

describe('routes that depend on the configuration', () => {
  const off: RouteSettings = {
    api: { ...SETTINGS.api, sse: { enabled: false, maxClients: 1 }, ui: { enabled: false } },
    systemd: { ...SETTINGS.systemd, enabled: false },
    audio: { enabled: false, serveCookie: true },
    power: { ...SETTINGS.power, enabled: false },
    upgrade: { ...SETTINGS.upgrade, enabled: false },
    players: { enabled: false },
    discovery: SETTINGS.discovery,
    mqtt: SETTINGS.mqtt,
  };
  const readOnlyUpgrade = {
    enabled: true,
    resultFile: '/result',
    progressSocket: '/socket',
    stateFile: '/state',
  };
  const rows: [what: string, settings: RouteSettings, exists: string[], absent: string[]][] = [
    [
      'everything off',
      off,
      ['/server', '/health', '/openapi.json'],
      ROUTES.map(({ path }) => path).filter(
        (path) => !['/server', '/health', '/openapi.json'].includes(path),
      ),
    ],
    [
      'only the sound server',
      { ...off, audio: { enabled: true, serveCookie: false } },
      ['/audio'],
      ['/audio/cookie'],
    ],
    ['the cookie', { ...off, audio: { enabled: true, serveCookie: true } }, ['/audio/cookie'], ['/services']],
    [
      'a read-only upgrade',
      { ...off, upgrade: readOnlyUpgrade },
      ['/upgrade'],
      ['/upgrade/check', '/upgrade/start'],
    ],
    [
      'an upgrade that can check',
      { ...off, upgrade: { ...readOnlyUpgrade, checkUnit: 'check.service' } },
      ['/upgrade', '/upgrade/check'],
      ['/upgrade/start'],
    ],
    ['the stream', { ...off, api: SETTINGS.api }, ['/events'], ['/audio']],
  ];
  for (const [what, settings, exists, absent] of rows) {
    test(what, async (context) => {
      const under = new GatewayUnderTest(settings);
      context.after(() => under.close());
      const { paths } = (await under.json('/openapi.json')) as OpenApi;
      for (const path of exists) {
        assert.equal((await under.fetch({ method: 'OPTIONS', path })).status, 204, path);
        assert.ok(Object.hasOwn(paths, path), path);
      }
      for (const path of absent) {
        const filled = path.replace(/\{scope\}/, 'user').replace(/\{\w+\}/g, 'x');
        assert.equal((await under.fetch({ path: filled })).status, 404, path);
        assert.ok(!Object.hasOwn(paths, path), path);
      }
      assert.deepEqual(under.backends.asked, []);
    });
  }
});

function namesIn(body: unknown): string[] {
  return (body as { name: string }[]).map(({ name }) => name);
}
