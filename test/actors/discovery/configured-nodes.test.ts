// The requests to the nodes of the configuration, sent to real HTTP servers that answer well, badly or not at
// all (docs/configuration.md, "Finding nodes").

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type ConfiguredNode, ConfiguredNodes } from '../../../src/actors/discovery/configured-nodes.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';

const MINUTE_MS = 60_000;
const DEADLINE_MS = 5_000;

async function startHttpServer(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function configuredNodes(t: TestContext, ...urls: readonly string[]) {
  const clock = new ManualClock();
  const logs: string[] = [];
  let nodes: readonly ConfiguredNode[] = [];
  const nodesUnderTest = new ConfiguredNodes({
    urls,
    clock,
    log: (level, message, fields) => void logs.push(`${level}: ${message} ${fields?.['reason'] ?? ''}`),
    onChange: (all) => {
      nodes = all;
    },
  });
  t.after(() => nodesUnderTest.stop());
  const first = () => nodes[0] ?? assert.fail('there is none');
  return { clock, logs, first, all: () => nodes };
}

const SERVER = { api_sw: 'tonearm', api_version: '1.2.3', hostname: 'attic' };

test('a node that stops answering is not reachable until it answers again, and keeps its last answer', async (t) => {
  let isThere = true;
  const paths: string[] = [];
  const url = await startHttpServer(t, (request, response) => {
    paths.push(request.url ?? '');
    if (isThere) response.end(JSON.stringify(SERVER));
    else response.writeHead(503).end();
  });
  const { clock, logs, first } = configuredNodes(t, url);
  assert.deepEqual([first().answer, first().isReachable], [undefined, undefined]);
  await until('it has answered', () => first().isReachable);
  const answer = { api: 'tonearm', version: '1.2.3', address: '127.0.0.1', isOwnAddress: true };
  assert.deepEqual(first().answer, answer);
  isThere = false;
  await until('the next round is set', () => clock.timers === 1);
  clock.advance(MINUTE_MS);
  await until('it is away', () => first().isReachable === false);
  assert.deepEqual(first().answer, answer);
  isThere = true;
  await until('the next round is set', () => clock.timers === 1);
  clock.advance(MINUTE_MS);
  await until('it is back', () => first().isReachable);
  assert.deepEqual(paths, ['/server', '/server', '/server']);
  assert.deepEqual(logs, [
    'info: a node of discovery.nodes answers ',
    'warn: a node of discovery.nodes does not answer GET /server was answered with 503',
    'info: a node of discovery.nodes answers ',
  ]);
});

const BAD: readonly (readonly [what: string, answer: RequestListener, reason: RegExp])[] = [
  ['no JSON', (_, response) => response.end('<html>'), /not answered as a node does/],
  ['another program', (_, response) => response.end('{"name":"printer"}'), /not answered as a node does/],
  [
    'a redirect',
    (_, response) => response.writeHead(302, { Location: 'http://evil.example/' }).end(),
    /answered with 302/,
  ],
  ['too much', (_, response) => response.end(`{"api_sw":"${'x'.repeat(70_000)}"}`), /not answered as a node/],
  ['an end in the middle', (request) => request.socket.destroy(), /socket hang up|ECONNRESET/],
];
for (const [what, answer, reason] of BAD) {
  test(`a program that answers with ${what} is no node`, async (t) => {
    const { logs, first } = configuredNodes(t, await startHttpServer(t, answer));
    await until('its answer is read', () => first().isReachable === false);
    assert.match(logs[0] ?? '', reason);
    assert.equal(first().answer, undefined);
  });
}

test('a node of the other service is recognized by its answer', async (t) => {
  const { first } = configuredNodes(
    t,
    await startHttpServer(t, (_, response) => response.end('{"api_sw":"odio-api"}')),
  );
  await until('it has answered', () => first().isReachable);
  assert.equal(first().answer?.api, 'odio-api');
});

test('a node that hangs delays no other node, and is not reachable after the deadline', async (t) => {
  let hanging = 0;
  const silent = await startHttpServer(t, () => {
    hanging += 1;
  });
  const { clock, logs, all } = configuredNodes(
    t,
    silent,
    await startHttpServer(t, (_, response) => response.end(JSON.stringify(SERVER))),
  );
  await until('the other has answered', () => all()[1]?.isReachable);
  await until('it hangs', () => hanging === 1);
  clock.advance(DEADLINE_MS);
  await until('it is away', () => all()[0]?.isReachable === false);
  assert.match(logs.at(-1) ?? '', /no answer within 5 s/);
});

test('no request is sent after the end', async (t) => {
  const clock = new ManualClock();
  const url = await startHttpServer(t, (_, response) => response.end(JSON.stringify(SERVER)));
  let isKnown = false;
  const onChange = ([node]: readonly ConfiguredNode[]): void => {
    isKnown = node?.isReachable === true;
  };
  const nodesUnderTest = new ConfiguredNodes({ urls: [url], clock, log: () => undefined, onChange });
  await until('the next round is set', () => isKnown && clock.timers === 1);
  await nodesUnderTest.stop();
  assert.equal(clock.timers, 0);
});
