// A bus that goes while the backend is still coming up on it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlayersBackend } from '../../../src/actors/players/backend.js';
import { systemClock } from '../../../src/clock.js';
import { until } from '../../until.js';
import { reply, type Script, scriptedBus } from '../bus/scripted-bus.js';
import { PlayersRecorder } from './recorder.js';

const DYING: Script = {
  call: (socket, { serial, text: heard }) => {
    if (heard.includes('GetAll')) socket.destroy();
    else if (heard.includes('ListNames')) {
      socket.write(reply(serial, 'as', ['org.mpris.MediaPlayer2.one']));
    } else if (heard.includes('GetNameOwner')) socket.write(reply(serial, 's', ':1.2'));
    else socket.write(reply(serial));
  },
};

test('a bus that goes while players are read is not said to be up', async (t) => {
  const bus = await scriptedBus((connection) => (connection === 1 ? DYING : { greet: () => undefined }));
  t.after(() => bus.close());
  const recorder = new PlayersRecorder();
  const paths = () => ({ ok: true, paths: [bus.path] }) as const;
  const backend = new PlayersBackend(recorder, systemClock, { paths, backoffMs: () => 20 });
  t.after(() => backend.stop());
  await until('it tries again', () => bus.connections() === 2);
  assert.deepEqual(recorder.said, ['connecting']);
  const answer = await backend.handle({ do: 'play', player: 'org.mpris.MediaPlayer2.one' });
  assert.equal(!answer.ok && answer.fault, 'unavailable');
});
