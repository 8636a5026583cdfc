// Whether anybody listens to a gauge reaches the thread that takes its readings, whichever thread that is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare } from './harness.js';

test('a thread hears who listens: from its start on, each newcomer, and that nobody does', async (t) => {
  const { supervisor, witness, say } = prepare({ audio: 'watches', power: 'watches' });
  t.after(() => supervisor.stop());
  const heard = () => witness.lines.filter(({ message }) => message.startsWith('audio.level'));
  // Before there is a thread.
  supervisor.watch('audio.level', true);
  supervisor.start(witness);
  await witness.until(() => heard().length === 1);
  supervisor.watch('audio.level', true);
  await witness.until(() => heard().length === 2);
  await say('audio', 'die');
  await witness.untilState('audio', 'up', 1);
  await witness.until(() => heard().length === 3);
  supervisor.watch('audio.level', false);
  await witness.until(() => heard().length === 4);
  await say('audio', 'die');
  await witness.untilState('audio', 'up', 2);
  await say('power', 'who');
  assert.deepEqual(
    heard().map(({ message, fields }) => [fields['backend'], message]),
    [
      ['audio', 'audio.level true'],
      ['audio', 'audio.level true'],
      ['audio', 'audio.level true'],
      ['audio', 'audio.level false'],
    ],
  );
});
