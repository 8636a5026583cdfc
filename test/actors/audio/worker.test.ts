// The audio actor in its own thread, as the supervisor runs it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import work from '../../../src/actors/audio/worker.js';
import {
  type ActorItem,
  type FromActor,
  type ToActor,
  typedPort,
} from '../../../src/protocol/actor/messages.js';
import { until } from '../../until.js';
import { COMMAND, scriptedServer } from './scripted-server.js';

test('the audio actor finds the server by its environment, publishes, answers and stops', async (t) => {
  const server = await scriptedServer(t);
  // This file runs in its own process, so it may change the environment.
  process.env['PULSE_SERVER'] = `unix:${server.socketPath}`;
  const { port1, port2 } = new MessageChannel();
  const port = typedPort<ToActor<'audio'>, FromActor>(port1);
  const items: ActorItem[] = [];
  port.listen(
    (parcel) => items.push(...parcel),
    () => undefined,
  );
  const life = work({ port: port2, settings: { enabled: true, serveCookie: false, outputs: {} } });
  await until('the actor is up', () => items.some((item) => item.kind === 'status' && item.state === 'up'));
  const kinds = items.map((item) => item.kind);
  assert.deepEqual(kinds.slice(0, kinds.indexOf('status')), ['put', 'put', 'put', 'put']);
  port.send({
    kind: 'command',
    id: 1,
    command: { do: 'mute', target: { kind: 'client', ref: 'News' }, muted: true },
  });
  port.send({ kind: 'command', id: 2, command: { do: 'cookie' } });
  const answers = await until('both commands are answered', () => {
    const found = items.filter((item) => item.kind === 'answer').sort((a, b) => a.id - b.id);
    return found.length === 2 && found;
  });
  assert.deepEqual(answers[0], { kind: 'answer', id: 1, answer: { ok: true } });
  const refusal = answers[1]?.answer;
  assert.equal(refusal?.ok === false && refusal.fault, 'no-cookie');
  assert.ok(server.heard.includes(COMMAND.setInputMute));
  port.send({ kind: 'stop' });
  await life;
});
