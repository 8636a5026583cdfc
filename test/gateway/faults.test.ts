// Defects inside the gateway, on real connections: a reply that cannot be written, a stream that fails. The client gets an
// error or is cut off, the log names the defect, and the process continues.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Covers } from '../../src/gateway/covers.js';
import { Documents } from '../../src/gateway/documents.js';
import type { Exchange } from '../../src/gateway/exchange.js';
import { RequestHandler } from '../../src/gateway/handler.js';
import { Journal } from '../../src/gateway/journal.js';
import { OperationReplies } from '../../src/gateway/operation-replies.js';
import { Page } from '../../src/gateway/page.js';
import { type CachedResponse, ResponseMaker } from '../../src/gateway/reply.js';
import { Router } from '../../src/gateway/router.js';
import { ROUTES } from '../../src/gateway/routes.js';
import { createServer } from '../../src/gateway/server.js';
import { HostIdentity } from '../../src/gateway/trust.js';
import type { HealthRecord } from '../../src/protocol/actor/schemas.js';
import { ManualClock } from '../manual-clock.js';
import { until } from '../until.js';
import { SETTINGS } from './gateway-under-test.js';
import { RawConnection } from './raw-connection.js';
import { ScriptedBackends } from './scripted-backends.js';

/** uWebSockets.js throws when it gets this value. The types forbid it, so only a defect can lead to it. */
const UNWRITABLE = {} as never;

const HEALTH: HealthRecord = {
  ...{ status: 'ok', version: '0', uptime_s: 0, listening: [], waiting: [] },
  ...{ backends: {}, streams: { open: 0, closed_slow: 0 } },
};

/** More connections than any test opens. */
const BOUNDLESS = { connections: 1000, reserved: 0, perAddress: 1000, streams: 1000 };

const full = (): never => assert.fail('too many connections');

/** Responses that are composed anew for a request cannot be written. */
class UnwritableResponses extends ResponseMaker {
  override remake(before: CachedResponse): CachedResponse {
    return { ...before, whole: { status: 200, headers: [], body: UNWRITABLE } };
  }
}

interface Context {
  after(end: () => Promise<void>): void;
}

class FaultyGateway {
  readonly backends = new ScriptedBackends();
  readonly logged: string[] = [];
  readonly clock = new ManualClock();
  readonly port: number;
  /** Called when a stream is opened. */
  openStream: () => never = () => assert.fail('a stream was opened');

  constructor(context: Context) {
    const responses = new UnwritableResponses('boot');
    const replies = new OperationReplies({
      ...{ responses, backends: this.backends, covers: new Covers(this.backends), clock: this.clock },
      documents: new Documents([], new Journal(), responses, this.clock),
      serverRecord: () => UNWRITABLE,
      healthRecord: () => HEALTH,
      openapi: async () => '{}',
    });
    const handler = new RequestHandler({
      router: new Router(ROUTES, SETTINGS),
      replies,
      identity: new HostIdentity(() => 'kitchen', { hosts: [], origins: [] }),
      hub: {
        open: (_query, sink) => {
          sink.write(Buffer.from(': begun\n\n'));
          return this.openStream();
        },
      },
      placeFor: () => 'kitchen',
      page: new Page(new Map(), []),
      log: (level, message) => this.logged.push(`${level} ${message}`),
    });
    const server = createServer(handler, this.clock, BOUNDLESS, full);
    const listening = server.open('127.0.0.1', 0);
    assert.ok(listening);
    this.port = listening.port;
    // The clock stands still, so this ends only if every exchange has been counted as settled.
    context.after(() => server.close(1));
  }

  get(path: string): RawConnection {
    return new RawConnection(this.port).write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  }

  async assertServes(): Promise<void> {
    const connection = this.get('/health');
    assert.match(await connection.until((text) => text.includes('}}')), /^HTTP\/1\.1 200 /);
    connection.destroy();
    assert.equal(this.clock.timers, 0);
  }
}

const BROKEN: readonly (readonly [what: string, path: string])[] = [
  ['within the handler', '/server'],
  ['after a backend has answered', '/audio/cookie'],
];
for (const [what, path] of BROKEN) {
  test(`a response that cannot be written ${what} ends its connection, and nothing else`, async (context) => {
    const gateway = new FaultyGateway(context);
    gateway.backends.answer = { ok: true, bytes: UNWRITABLE };
    for (const _ of [1, 2]) assert.doesNotMatch(await gateway.get(path).closed(), /\r\n\r\n/);
    assert.deepEqual(gateway.logged, Array(2).fill('error a request failed inside the gateway'));
    await gateway.assertServes();
  });
}

test('a stream that fails after its beginning ends its connection, and nothing else', async (context) => {
  const gateway = new FaultyGateway(context);
  gateway.openStream = () => {
    throw new Error('a defect');
  };
  await gateway.get('/events').closed();
  assert.deepEqual(gateway.logged, ['error a request failed inside the gateway']);
  await gateway.assertServes();
});

test('a body that does not arrive in time is refused, and the connection ends', async (context) => {
  const gateway = new FaultyGateway(context);
  const head = 'POST /audio/server/mute HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n';
  const connection = new RawConnection(gateway.port).write(`${head}{"mu`);
  await until('the body is waited for', () => gateway.clock.timers === 1);
  gateway.clock.advance(10_000);
  assert.match(await connection.closed(), /^HTTP\/1\.1 400 [\s\S]*did not arrive in time/);
  assert.deepEqual(gateway.backends.asked, []);
  await gateway.assertServes();
});

test('a request whose connection was cut is over: it gets no answer, and the server does not wait for it', async () => {
  let cut: Exchange | undefined;
  const clock = new ManualClock();
  const server = createServer(
    {
      serve: (exchange) => {
        cut = exchange;
        if (exchange.path === '/later') setImmediate(() => exchange.cut());
        else exchange.cut();
      },
      onFault: (_exchange, error) => assert.fail(String(error)),
    },
    clock,
    BOUNDLESS,
    full,
  );
  const listening = server.open('127.0.0.1', 0);
  assert.ok(listening);
  for (const path of ['/now', '/later']) {
    const connection = new RawConnection(listening.port).write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    assert.equal(await connection.closed(), '');
    cut?.answer({ status: 200, headers: [], body: 'late' });
    cut?.cut();
  }
  await server.close(1);
});
