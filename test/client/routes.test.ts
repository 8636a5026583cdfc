// Tests that each function of the client sends what the daemon's table of operations demands. Also tests the
// options of a call, valid and wrong answers, and base URLs.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import type { ProblemError } from '../../src/client/problem.js';
import { type Tonearm, tonearm } from '../../src/client/routes.js';
import { OPERATION_NAMES, OPERATIONS } from '../../src/protocol/actor/operations.js';
import { allowedValues, parametersOf } from '../../src/protocol/actor/parameters.js';
import { EXAMPLE_BODIES } from '../gateway/example-bodies.js';

const NODE = 'http://node.local:8018';
/** A name with characters that a path must encode. */
const NAME = 'a/b c#é';

interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
  readonly contentType: string | null;
}

/** The status of the node's answer to a request that succeeds. */
const statusFor = (method: string): number => (method === 'GET' ? 200 : 202);

/** Makes a client. `sent` records its requests. `answer` makes the response to each of them. */
function openClient(answer?: () => Response) {
  const sent: SentRequest[] = [];
  const fetch = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    sent.push({
      method: init.method ?? 'GET',
      path: String(input).replace(NODE, ''),
      body: init.body as string | undefined,
      contentType: new Headers(init.headers).get('Content-Type'),
    });
    return answer?.() ?? Response.json({}, { status: statusFor(init.method ?? 'GET') });
  };
  return { node: tonearm(NODE, { fetch: fetch as typeof globalThis.fetch }), sent };
}

describe('each function of the client', () => {
  for (const name of OPERATION_NAMES) {
    test(`${name} calls the operation of that name, with its parameters and then its body`, async () => {
      const operation = OPERATIONS[name];
      const parameters = parametersOf(operation.path).map(
        (parameter) => allowedValues(parameter)?.[0] ?? NAME,
      );
      const body = operation.kind === 'command' && operation.body && EXAMPLE_BODIES[operation.body];
      const { node, sent } = openClient();

      const call: (...args: never[]) => Promise<unknown> = node[name];
      await Reflect.apply(call, node, body ? [...parameters, body] : parameters);

      const notYetInPath = [...parameters];
      const path = operation.path.replaceAll(/\{\w+\}/g, () =>
        encodeURIComponent(notYetInPath.shift() ?? ''),
      );
      const contentType = body ? 'application/json' : null;
      const text = body ? JSON.stringify(body) : undefined;
      assert.deepEqual(sent, [{ method: operation.method, path, body: text, contentType }]);
    });
  }

  test('a function rejects, and does not throw, if a name cannot be part of an address', async () => {
    const { node, sent } = openClient();
    const loneSurrogate = '\ud800';
    const call = node.muteOutput(loneSurrogate);
    await assert.rejects(call, URIError);
    assert.deepEqual(sent, []);
  });

  test('a function rejects, and sends nothing, if the body cannot be written as JSON', async () => {
    const { node, sent } = openClient();
    const circle: Record<string, unknown> = {};
    circle['itself'] = circle;
    await assert.rejects(node.setServerVolume(circle as never), TypeError);
    assert.deepEqual(sent, []);
  });

  test('a function that reads a log requests as many lines as its options demand', async () => {
    const { node, sent } = openClient();
    await node.unitLog('user', 'mpd.service', { lines: 5 });
    assert.equal(sent.map(({ path }) => path).join(), '/services/user/mpd.service/log?lines=5');
  });

  test('a function that reads a log sends no number of lines if the option `lines` is undefined', async () => {
    const { node, sent } = openClient();
    await Reflect.apply(node.unitLog, node, ['user', 'mpd.service', { lines: undefined }]);
    assert.equal(sent.map(({ path }) => path).join(), '/services/user/mpd.service/log');
  });

  test('a function that mutes sends no body if it is called without a body, so that the node toggles the mute', async () => {
    const { node, sent } = openClient();
    await node.muteServer();
    await node.muteOutput('living');
    const requests = sent.map(({ path, body }) => `${path} ${body}`);
    assert.deepEqual(requests, ['/audio/server/mute undefined', '/audio/outputs/living/mute undefined']);
  });
});

describe('the options of a call', () => {
  test('the options of `with` add or replace headers, but only for the functions that `with` returns', async () => {
    const received: (readonly [string | null, string | null])[] = [];
    const fetch = async (_input: unknown, init: RequestInit = {}): Promise<Response> => {
      const headers = new Headers(init.headers);
      received.push([headers.get('Authorization'), headers.get('X-Extra')]);
      return new Response('{}', { status: statusFor(init.method ?? 'GET') });
    };
    const node = tonearm(NODE, { fetch: fetch as typeof globalThis.fetch, headers: { Authorization: 'a' } });
    await node.with({ headers: { 'X-Extra': 'one' } }).outputs();
    await node.with({ headers: { Authorization: 'b' } }).setServerVolume({ volume: 1 });
    await node.outputs();
    assert.deepEqual(received, [
      ['a', 'one'],
      ['b', null],
      ['a', null],
    ]);
  });

  test('the options of `with` keep the default time-out if `timeoutMs` is undefined', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const fetch = (_input: unknown, { signal }: RequestInit = {}): Promise<Response> =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason));
      });
    const node = tonearm(NODE, { fetch });
    const sameNode: Tonearm = Reflect.apply(node.with, node, [{ timeoutMs: undefined }]);
    const call = sameNode.outputs();
    t.mock.timers.tick(15_000);
    await assert.rejects(call, { code: 'unreachable', message: 'No answer within 15000 ms' });
  });

  test('a call ends when the signal of its options aborts, and rejects with the reason of the signal', async (t) => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;

    const node = tonearm(`http://127.0.0.1:${port}`);
    const controller = new AbortController();
    const call = node.with({ signal: controller.signal }).outputs();
    await once(server, 'request');
    controller.abort(new Error('no longer wanted'));
    const aborted = { name: 'ProblemError', code: 'aborted', status: 0, message: 'no longer wanted' };
    await assert.rejects(call, aborted);
    // The signal has already aborted before this call.
    await assert.rejects(node.with({ signal: controller.signal }).outputs(), aborted);
  });
});

describe('answers', () => {
  test('a call resolves with the record that it reads, with undefined for a command, and with bytes for the cookie', async () => {
    assert.deepEqual(await openClient(() => Response.json([{ id: 1 }])).node.outputs(), [{ id: 1 }]);
    assert.equal(await openClient(() => new Response('', { status: 202 })).node.reboot(), undefined);
    const blob = await openClient(() => new Response(Uint8Array.of(1, 2))).node.cookie();
    assert.deepEqual([...new Uint8Array(await blob.arrayBuffer())], [1, 2]);
  });

  const TITLE = 'The stream has no volume';
  const document = { type: 'urn:tonearm:problem:no-volume', title: TITLE, status: 409, detail: 'None' };
  const problem = (body: unknown, status = 409, charset = ''): Response => {
    const headers = { 'Content-Type': `application/problem+json${charset}` };
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
  };
  const noJson = () => problem('{', 500);
  const tooLarge = () => new Response('<h1>431</h1>', { status: 431, statusText: 'Too large' });
  const withoutDetail = () => problem({ ...document, detail: '' }, 409, '; charset=utf-8');
  const unchanged = { status: 409, code: 'no-volume', message: 'None', problem: document };
  /**
   * The error of a body that is no JSON has the status 0, because the parser's error does not contain the
   * status of the answer. If the client does not parse the body, the error has the status of the answer.
   */
  const notTheService = { status: 0, code: 'not-the-service' };
  type Row = readonly [what: string, answer: () => Response, expected: object];
  const problems: readonly Row[] = [
    ['a problem document, which the error contains unchanged', () => problem(document), unchanged],
    ['a problem without a detail, with its title as the message', withoutDetail, { message: TITLE }],
    [
      'an error that is no problem document',
      tooLarge,
      { ...notTheService, status: 431, message: '431 Too large' },
    ],
    ['a problem document that is no JSON', noJson, notTheService],
    ['a problem document without members', () => problem({}, 502), { status: 502, message: '502' }],
    ['a problem document that is null', () => problem(null, 502), { status: 502, code: 'about:blank' }],
    ['a problem document whose type is no text', () => problem({ type: null }, 502), { code: 'null' }],
    [
      'a problem document with empty members',
      () => problem({ title: '', detail: '' }),
      { message: 'The answer does not come from the service' },
    ],
    ['a success that is not JSON', () => new Response('<html>'), notTheService],
  ];
  for (const [what, answer, expected] of problems) {
    test(`a call rejects for ${what}`, async () => {
      await assert.rejects(openClient(answer).node.server(), { name: 'ProblemError', ...expected });
    });
  }

  test('a command rejects if another program answers with a success', async () => {
    const { node } = openClient(() => new Response('<h1>Log in</h1>', { statusText: 'OK' }));
    const expected = { name: 'ProblemError', code: 'not-the-service', status: 200, message: '200 OK' };
    await assert.rejects(node.pausePlayers(), expected);
  });

  test('a request for bytes rejects if another program answers with a page', async () => {
    const page = () => new Response('<h1>Log in</h1>', { statusText: 'OK' });
    const { node } = openClient(page);
    const expected = { name: 'ProblemError', code: 'not-the-service', status: 200, message: '200 OK' };
    await assert.rejects(node.cookie(), expected);
    await assert.rejects(node.cover('mpd'), expected);
  });

  const refused = (port: number) => new Error(`connect ECONNREFUSED 127.0.0.1:${port}`);
  /** `messagePart` is a part of the expected message, in which `; ` joins the messages of several errors. */
  const failures: readonly (readonly [what: string, error: unknown, messagePart: string])[] = [
    ['several errors', new AggregateError([refused(1), refused(2)]), 'ECONNREFUSED 127.0.0.1:1; connect'],
    ['a cause', new TypeError('fetch failed', { cause: refused(1) }), 'connect ECONNREFUSED 127.0.0.1:1'],
    ['an error that has only a name', new TypeError(), 'TypeError'],
    ['undefined in place of an error', undefined, 'undefined'],
    ['an object without a text', Object.create(null), 'The node cannot be reached'],
  ];
  for (const [what, error, messagePart] of failures) {
    test(`a call whose request fails with ${what} rejects as unreachable, with a message`, async () => {
      const node = tonearm(NODE, { fetch: () => Promise.reject(error) });
      await assert.rejects(node.server(), (rejection: ProblemError) => {
        assert.ok(rejection.message.includes(messagePart), rejection.message);
        return rejection.code === 'unreachable';
      });
    });
  }

  for (const [what, status, type] of [
    ['a problem document', 500, 'application/problem+json'],
    ['a success', 200, 'application/json'],
    ['an error of another program', 502, 'text/html'],
  ] as const) {
    test(`${what} of 64 MiB is not read to its end`, async () => {
      let pulledMebibytes = 0;
      let isCancelled = false;
      const longBody = new ReadableStream({
        pull: (controller) => {
          pulledMebibytes += 1;
          controller.enqueue(new Uint8Array(1024 * 1024));
          if (pulledMebibytes === 64) controller.close();
        },
        cancel: () => {
          isCancelled = true;
        },
      });
      const { node } = openClient(
        () => new Response(longBody, { status, headers: { 'Content-Type': type } }),
      );
      await assert.rejects(node.server(), { code: 'not-the-service', status });
      assert.ok(isCancelled, 'the body is cancelled');
      // The client cancels a body soon after 16 MiB (`RESPONSE_MAX_BYTES` in client/request.ts). It does not
      // read the error of another program at all.
      assert.ok(pulledMebibytes < 20, `${pulledMebibytes} MiB`);
    });
  }

  test('a call rejects if nobody listens, and if nobody answers in time', async () => {
    const silentServer = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silentServer, 'listening');
    const url = `http://127.0.0.1:${(silentServer.address() as AddressInfo).port}`;
    const unreachable = { name: 'ProblemError', code: 'unreachable', status: 0 };
    await assert.rejects(tonearm(url, { timeoutMs: 50 }).server(), unreachable);
    silentServer.closeAllConnections();
    await new Promise((resolve) => silentServer.close(resolve));
    await assert.rejects(tonearm(new URL(url)).server(), unreachable);
  });
});

test('a cover has a URL below the base URL, even if the base URL has a path and ends with slashes', async () => {
  const { node } = openClient();
  const url = node.coverUrl('org.mpris.MediaPlayer2.a b');
  assert.equal(url, `${NODE}/players/org.mpris.MediaPlayer2.a%20b/cover`);
  assert.equal(tonearm('http://proxy/node//').coverUrl('x'), 'http://proxy/node/players/x/cover');
});

describe('a base URL', () => {
  const WRONG_URLS =
    'localhost:8018 node.local 192.168.1.5:8018 //node http:// ftp://node http://a:99999 http://me@node';
  for (const base of [...WRONG_URLS.split(' '), '']) {
    test(`a base URL may not be ${JSON.stringify(base)} outside of a page`, () =>
      assert.throws(() => tonearm(base), TypeError));
  }

  test('a base URL is optional in a page, but a wrong base URL is refused there, too', (t) => {
    Object.defineProperty(globalThis, 'location', { value: {}, configurable: true });
    t.after(() => Reflect.deleteProperty(globalThis, 'location'));
    assert.equal(tonearm().coverUrl('x'), '/players/x/cover');
    assert.throws(() => tonearm('localhost:8018'), TypeError);
  });

  for (const base of ['HTTP://node', 'https://[::1]:8018', 'http://proxy/kitchen/'])
    test(`a base URL may be ${base}`, () => assert.ok(tonearm(base)));
});
