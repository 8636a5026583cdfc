// Tests when the first state of a live connection is whole, and how it ends before.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ConnectOptions, connect } from '../../src/client/connect.js';
import { ProblemError } from '../../src/client/problem.js';
import { tonearm } from '../../src/client/routes.js';
import { scriptedNode, settled } from './scripted-node.js';

const NO_BACKENDS = { backends: { pulseaudio: false, mqtt: false } };
const SERVER = { hostname: 'kitchen', backends: { pulseaudio: true } };

/** A connection whose stream has begun; the node answers that it is `server`, or 404 without one. */
async function begun(t: { after(end: () => void): void }, server?: object, options: ConnectOptions = {}) {
  const node = scriptedNode();
  if (server !== undefined) node.answers.set('/server', () => server);
  const headers = { Authorization: 'Basic bTpt' };
  const live = connect(tonearm('http://node', { ...node, headers }), options);
  t.after(() => live.close());
  const states: string[] = [];
  live.ready.then(
    ({ outputs, server }) => states.push(`${server?.hostname} ${[...outputs.keys()]}`),
    (error: unknown) => states.push(error instanceof ProblemError ? error.code : String(error)),
  );
  await settled();
  const [stream = assert.fail('no stream')] = node.streams;
  await stream.send('event: server.info\ndata: "connected"\n\n');
  const mark = (id: string, backend: string) =>
    stream.event(id, 'backend.updated', { backend, state: 'up', detail: 'snapshot' });
  return { live, states, stream, mark };
}

describe('the first state', () => {
  test('is ready with the last event of the snapshot, and not before', async (t) => {
    const { states, stream, mark } = await begun(t, SERVER);
    await mark('', 'audio');
    await stream.event('', 'audio.output.updated', [{ id: 1 }]);
    await mark('', 'systemd');
    assert.deepEqual(states, []);
    await stream.event('b-9', 'service.updated', { scope: 'user', name: 'a' });
    assert.deepEqual(states, ['kitchen 1']);
  });

  test('is ready without the server where that cannot be read', async (t) => {
    const { states, mark } = await begun(t);
    await mark('b-1', 'audio');
    assert.deepEqual(states, ['undefined ']);
  });

  test('is ready at once on a node without backends', async (t) => {
    const { states } = await begun(t, { ...SERVER, ...NO_BACKENDS });
    assert.deepEqual(states, ['kitchen ']);
  });

  test('fails where the connection is closed too early, also by its signal', async (t) => {
    const ended = new AbortController();
    const byHand = await begun(t, SERVER);
    const bySignal = await begun(t, SERVER, { signal: ended.signal });
    byHand.live.close();
    ended.abort();
    await settled();
    assert.deepEqual([byHand.states, bySignal.states], [['aborted'], ['aborted']]);
    assert.equal(bySignal.live.state.connection.status, 'closed');
    assert.equal(bySignal.stream.aborted, true);
  });

  test('never comes on a connection whose signal has aborted already', async () => {
    const node = scriptedNode();
    const live = connect(tonearm('http://node', node), { signal: AbortSignal.abort() });
    await assert.rejects(live.ready, { code: 'aborted', message: 'The connection was closed' });
  });
});

test('the request of the stream has the headers of the node', async (t) => {
  const { stream } = await begun(t, SERVER);
  assert.equal(stream.headers.get('Authorization'), 'Basic bTpt');
  assert.equal(stream.headers.get('Accept'), 'text/event-stream');
});
