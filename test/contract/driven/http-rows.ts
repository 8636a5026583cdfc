// Rows of the table (row.ts) about the keys `bind`, `logLevel` and those of `api`, and about the documents
// and events that no backend owns. In house.ts, `plainConfig`, `PLAIN_API` and `BARE_API` have the values
// that these rows expect of the daemons `plain` and `bare`. The daemon `house` has the default of each of
// these keys, except for `api.port`.

import assert from 'node:assert/strict';
import type { ServerRecord } from '../../../src/protocol/actor/schemas.js';
import { send } from '../../tools/http.js';
import { until } from '../../until.js';
import type { Driver } from './driver.js';
import type { House } from './house.js';
import type { Row } from './row.js';

const OTHER_LOOPBACK = '127.0.0.3';
const PREFLIGHT = { Origin: 'http://app.lan', 'Access-Control-Request-Method': 'POST' };

interface Health {
  readonly listening: readonly string[];
  readonly backends: Readonly<Record<string, { readonly state: string }>>;
}

export const HTTP_ROWS: readonly Row<House>[] = [
  {
    drives: ['key bind', 'operation health'],
    title: 'the node listens at the addresses of bind, and at no other address',
    run: async ({ house, plain }) => {
      const { listening } = await plain.read<Health>('/health');
      assert.ok(
        listening.some((address) => address.includes(OTHER_LOOPBACK)),
        listening.join(),
      );
      const request = { host: OTHER_LOOPBACK, path: '/server' };
      assert.equal((await send(plain.daemon.port, request)).status, 200);
      await assert.rejects(send(house.daemon.port, request), /ECONNREFUSED/);
    },
  },
  {
    drives: ['key logLevel'],
    title: 'a log has no lines below logLevel',
    run: async ({ house, plain }) => {
      assert.match(house.daemon.log, /"level":"info"/);
      assert.doesNotMatch(plain.daemon.log, /"level":"info"/);
    },
  },
  {
    drives: ['key api.port', 'operation server'],
    title: 'the node answers at api.port',
    run: async ({ house }) => {
      const { api_sw: software } = await house.read<{ readonly api_sw: string }>('/server');
      assert.equal(software, 'tonearm');
      assert.match(house.config, new RegExp(`port: ${house.daemon.port}\\b`));
    },
  },
  {
    drives: ['key api.hosts'],
    title: 'api.hosts are names under which the node answers',
    run: async ({ house, plain }) => {
      const headers = { Host: 'music.example.org' };
      assert.deepEqual(
        [await plain.statusOf('/server', headers), await house.statusOf('/server', headers)],
        [200, 403],
      );
    },
  },
  {
    drives: ['key api.cors.origins'],
    title: 'api.cors.origins are pages that may call the node',
    run: async ({ house, plain }) => {
      const allowedOrigin = async ({ daemon }: Driver) => {
        const { headers } = await daemon.send('OPTIONS', '/server', undefined, PREFLIGHT);
        return headers['access-control-allow-origin'];
      };
      assert.deepEqual(
        [await allowedOrigin(plain), await allowedOrigin(house)],
        [PREFLIGHT.Origin, undefined],
      );
    },
  },
  {
    drives: ['key api.sse.enabled', 'event server.info'],
    title: 'api.sse.enabled decides whether there is an event stream',
    run: async ({ house, bare }) => {
      const stream = await house.openStream('');
      await stream.until(({ events }) => events[0]?.type === 'server.info', 'the first event');
      assert.equal(stream.events[0]?.data, '"connected"');
      stream.close();
      assert.equal(await bare.statusOf('/events'), 404);
    },
  },
  {
    drives: ['key api.sse.maxClients'],
    title: 'api.sse.maxClients is the largest number of open streams',
    run: async ({ plain }) => {
      const first = await plain.daemon.events();
      await until('the stream is open', () => first.events.length > 0);
      assert.equal(await plain.statusOf('/events'), 503);
      first.close();
      await plain.daemon.untilStreamsOpen(0);
    },
  },
  {
    drives: ['key api.ui.enabled'],
    title: 'api.ui.enabled decides whether there is a page',
    run: async ({ house, bare }) => {
      assert.deepEqual([await house.statusOf('/ui'), await bare.statusOf('/ui')], [200, 404]);
    },
  },
  {
    drives: ['key api.ui.volumeStep'],
    title: 'api.ui.volumeStep is the volume_step of /server',
    run: async ({ house, plain }) => {
      const readStep = async (driver: Driver) =>
        (await driver.read<{ readonly volume_step: number }>('/server')).volume_step;
      // `PLAIN_API` has 2 %, and the default is 5 %.
      assert.deepEqual([await readStep(plain), await readStep(house)], [0.02, 0.05]);
    },
  },
  {
    drives: ['key api.metrics'],
    title: 'api.metrics decides whether there are figures for Prometheus',
    run: async ({ house, bare }) => {
      assert.deepEqual([await house.statusOf('/metrics'), await bare.statusOf('/metrics')], [200, 404]);
    },
  },
  {
    drives: ['key api.control'],
    title:
      'api.control false allows no changes, and api.control local allows changes by programs on the node',
    run: async ({ bare, plain }) => {
      const { status, text } = await bare.send('POST', '/audio/server/mute');
      assert.deepEqual([status, JSON.parse(text).type], [403, 'urn:tonearm:problem:read-only']);
      // The route toggles the mute, so the second request undoes the first.
      await plain.post('/audio/server/mute');
      await plain.post('/audio/server/mute');
      const canControl = async (driver: Driver) => (await driver.read<ServerRecord>('/server')).control;
      assert.deepEqual([await canControl(bare), await canControl(plain)], [false, true]);
    },
  },
  {
    drives: ['operation openapi'],
    title: 'the OpenAPI document describes the routes that exist',
    run: async ({ house, bare }) => {
      const readPaths = async (driver: Driver) =>
        Object.keys((await driver.read<{ readonly paths: object }>('/openapi.json')).paths);
      const pathsOfHouse = await readPaths(house);
      const pathsOfBare = await readPaths(bare);
      assert.ok(pathsOfHouse.includes('/audio'), pathsOfHouse.join());
      assert.ok(!pathsOfBare.includes('/audio'), pathsOfBare.join());
    },
  },
  {
    drives: ['event backend.updated'],
    title: 'events announce that the sound server goes and comes back',
    run: async ({ house, sound }) => {
      const hasAudioState = (expected: string) => (data: string) => {
        const { backend, state } = JSON.parse(data) as { readonly backend: string; readonly state: string };
        return backend === 'audio' && state === expected;
      };
      await sound.kill('SIGTERM');
      await house.untilEvent('backend.updated', hasAudioState('connecting'));
      await sound.restart();
      await house.untilEvent('backend.updated', hasAudioState('up'));
    },
  },
];
