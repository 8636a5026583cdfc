// Tests the requests to the nodes of the configuration (docs/configuration.md, "Finding nodes"). Real HTTP
// servers stand for the nodes. They answer well, badly or not at all.

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type ConfiguredNode, ConfiguredNodes } from '../../../src/actors/discovery/configured-nodes.js';
import { ManualClock } from '../../manual-clock.js';
import { until } from '../../until.js';

/** The time between two rounds of requests (`PAUSE_MS` of configured-nodes.ts). */
const PAUSE_MS = 60_000;
/** The time within which a node must answer (`ANSWER_MAX_MS` of node-request.ts). */
const DEADLINE_MS = 5_000;

async function startHttpServer(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  t.after(() => server.closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a `ConfiguredNodes` for the nodes at `urls`. Keeps its log, and the nodes of its last report. */
class NodesUnderTest {
  readonly clock = new ManualClock();
  readonly logs: string[] = [];
  #all: readonly ConfiguredNode[] = [];

  constructor(t: TestContext, ...urls: readonly string[]) {
    const nodes = new ConfiguredNodes({
      urls,
      clock: this.clock,
      log: (level, message, fields) => {
        const reason = fields?.['reason'];
        const ending = reason === undefined ? '' : `: ${reason}`;
        this.logs.push(`${level}: ${message}${ending}`);
      },
      onChange: (all) => {
        this.#all = all;
      },
    });
    t.after(() => nodes.stop());
  }

  get all(): readonly ConfiguredNode[] {
    return this.#all;
  }

  get first(): ConfiguredNode {
    return this.#all[0] ?? assert.fail('no node was reported');
  }
}

/** The answer of a node to `GET /server`. */
const SERVER_RECORD = { api_sw: 'tonearm', api_version: '1.2.3', hostname: 'attic' };

test('a node that stops answering is not reachable until it answers again, and its last answer is kept meanwhile', async (t) => {
  let isAnswering = true;
  const paths: string[] = [];
  const url = await startHttpServer(t, (request, response) => {
    paths.push(request.url ?? '');
    if (isAnswering) response.end(JSON.stringify(SERVER_RECORD));
    else response.writeHead(503).end();
  });
  const nodes = new NodesUnderTest(t, url);
  assert.deepEqual([nodes.first.answer, nodes.first.isReachable], [undefined, undefined]);
  await until('the node has answered', () => nodes.first.isReachable);
  const answer = { api: 'tonearm', version: '1.2.3', address: '127.0.0.1', isOwnAddress: true };
  assert.deepEqual(nodes.first.answer, answer);

  isAnswering = false;
  await until('the timer of the next round is set', () => nodes.clock.timers === 1);
  nodes.clock.advance(PAUSE_MS);
  await until('the node is not reachable', () => nodes.first.isReachable === false);
  assert.deepEqual(nodes.first.answer, answer);

  isAnswering = true;
  await until('the timer of the next round is set', () => nodes.clock.timers === 1);
  nodes.clock.advance(PAUSE_MS);
  await until('the node is reachable again', () => nodes.first.isReachable);
  assert.deepEqual(paths, ['/server', '/server', '/server']);
  assert.deepEqual(nodes.logs, [
    'info: a node of discovery.nodes answers',
    'warn: a node of discovery.nodes does not answer: GET /server was answered with 503',
    'info: a node of discovery.nodes answers',
  ]);
});

const BAD_ANSWERS: readonly (readonly [what: string, answer: RequestListener, reason: RegExp])[] = [
  ['a page of HTML', (_, response) => response.end('<html>'), /not answered as a node does/],
  [
    'JSON of another program',
    (_, response) => response.end('{"name":"printer"}'),
    /not answered as a node does/,
  ],
  [
    'a redirect',
    (_, response) => response.writeHead(302, { Location: 'http://evil.example/' }).end(),
    /answered with 302/,
  ],
  [
    // This is the bound `ANSWER_MAX_BYTES` of node-request.ts.
    'more than 64 KiB',
    (_, response) => response.end(`{"api_sw":"${'x'.repeat(70_000)}"}`),
    /the answer to GET \/server is too large/,
  ],
  ['the end of the connection', (request) => request.socket.destroy(), /socket hang up|ECONNRESET/],
];
for (const [what, answer, reason] of BAD_ANSWERS) {
  test(`a program that answers with ${what} is no node`, async (t) => {
    const nodes = new NodesUnderTest(t, await startHttpServer(t, answer));
    await until('the request has failed', () => nodes.first.isReachable === false);
    assert.match(nodes.logs[0] ?? '', reason);
    assert.equal(nodes.first.answer, undefined);
  });
}

test('a node that runs odio-api instead of tonearm is recognized by its answer', async (t) => {
  const nodes = new NodesUnderTest(
    t,
    await startHttpServer(t, (_, response) => response.end('{"api_sw":"odio-api"}')),
  );
  await until('the node has answered', () => nodes.first.isReachable);
  assert.equal(nodes.first.answer?.api, 'odio-api');
});

test('a node that hangs delays no other node, and is not reachable after the deadline', async (t) => {
  let hungRequests = 0;
  const hangingUrl = await startHttpServer(t, () => {
    hungRequests += 1;
  });
  const nodes = new NodesUnderTest(
    t,
    hangingUrl,
    await startHttpServer(t, (_, response) => response.end(JSON.stringify(SERVER_RECORD))),
  );
  await until('the other node has answered', () => nodes.all[1]?.isReachable);
  await until('the request hangs', () => hungRequests === 1);
  nodes.clock.advance(DEADLINE_MS);
  await until('the node that hangs is not reachable', () => nodes.all[0]?.isReachable === false);
  assert.match(nodes.logs.at(-1) ?? '', /no answer within 5 s/);
});

test('ConfiguredNodes.stop leaves no timer that would begin another round of requests', async (t) => {
  const clock = new ManualClock();
  const url = await startHttpServer(t, (_, response) => response.end(JSON.stringify(SERVER_RECORD)));
  let isReachable = false;
  const onChange = ([node]: readonly ConfiguredNode[]): void => {
    isReachable = node?.isReachable === true;
  };
  const configuredNodes = new ConfiguredNodes({ urls: [url], clock, log: () => undefined, onChange });
  await until('the timer of the next round is set', () => isReachable && clock.timers === 1);
  await configuredNodes.stop();
  assert.equal(clock.timers, 0);
});
