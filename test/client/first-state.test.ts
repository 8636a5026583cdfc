// Tests when the first state of a live connection is ready, and when the wait for this state fails.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connect } from '../../src/client/connect.js';
import type { ConnectOptions } from '../../src/client/live.js';
import { ProblemError } from '../../src/client/problem.js';
import { tonearm } from '../../src/client/routes.js';
import { scriptedNode, settle } from './scripted-node.js';

const SERVER = { hostname: 'kitchen', backends: { pulseaudio: true } };
const SERVER_WITHOUT_BACKENDS = { ...SERVER, backends: { pulseaudio: false, mqtt: false } };
const AUTHORIZATION = 'Basic bTpt';

/**
 * Opens a connection whose stream has begun. The node answers `/server` with `serverRecord`, or with 404 if
 * `serverRecord` is undefined. When the first state is ready, `outcomes` gets the host name and the ids of
 * the outputs, such as `kitchen 1`. If the first state fails, `outcomes` gets the code of the error.
 */
async function openConnection(
  t: { after(end: () => void): void },
  serverRecord?: object,
  options: ConnectOptions = {},
) {
  const node = scriptedNode();
  if (serverRecord !== undefined) node.answers.set('/server', () => serverRecord);
  const headers = { Authorization: AUTHORIZATION };
  const live = connect(tonearm('http://node', { ...node, headers }), options);
  t.after(() => live.close());
  const outcomes: string[] = [];
  live.ready.then(
    ({ outputs, server }) => outcomes.push(`${server?.hostname} ${[...outputs.keys()]}`),
    (error: unknown) => outcomes.push(error instanceof ProblemError ? error.code : String(error)),
  );
  await settle();

  const [stream = assert.fail('no stream')] = node.streams;
  await stream.send('event: server.info\ndata: "connected"\n\n');
  const sendMark = (id: string, backend: string) =>
    stream.event(id, 'backend.updated', { backend, state: 'up', detail: 'snapshot' });
  return { live, outcomes, stream, sendMark };
}

describe('the first state', () => {
  test('the first state is ready with the last event of the snapshot, and not before', async (t) => {
    const { outcomes, stream, sendMark } = await openConnection(t, SERVER);
    // The last event of a snapshot is its only event with an id.
    await sendMark('', 'audio');
    await stream.event('', 'audio.output.updated', [{ id: 1 }]);
    await sendMark('', 'systemd');
    assert.deepEqual(outcomes, []);
    await stream.event('b-9', 'service.updated', { scope: 'user', name: 'a' });
    assert.deepEqual(outcomes, ['kitchen 1']);
  });

  test('the first state is ready without the record of /server if this record cannot be read', async (t) => {
    const { outcomes, sendMark } = await openConnection(t);
    await sendMark('b-1', 'audio');
    // Neither a host name nor an output is known.
    assert.deepEqual(outcomes, ['undefined ']);
  });

  test('the first state is ready at once if the node has no enabled backend and no enabled bridge', async (t) => {
    const { outcomes } = await openConnection(t, SERVER_WITHOUT_BACKENDS);
    assert.deepEqual(outcomes, ['kitchen ']);
  });

  test('the first state fails if close() or the signal of the connection ends the connection too early', async (t) => {
    const controller = new AbortController();
    const byCall = await openConnection(t, SERVER);
    const bySignal = await openConnection(t, SERVER, { signal: controller.signal });
    byCall.live.close();
    controller.abort();
    await settle();
    assert.deepEqual([byCall.outcomes, bySignal.outcomes], [['aborted'], ['aborted']]);
    assert.equal(bySignal.live.state.connection.status, 'closed');
    assert.equal(bySignal.stream.aborted, true);
  });

  test('the first state fails on a connection whose signal has already aborted', async () => {
    const node = scriptedNode();
    const live = connect(tonearm('http://node', node), { signal: AbortSignal.abort() });
    await assert.rejects(live.ready, { code: 'aborted', message: 'The connection was closed' });
  });
});

test('the request for the stream has the headers that the program has set', async (t) => {
  const { stream } = await openConnection(t, SERVER);
  assert.equal(stream.headers.get('Authorization'), AUTHORIZATION);
  assert.equal(stream.headers.get('Accept'), 'text/event-stream');
});
