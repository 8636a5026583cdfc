// The thread that reads the meters learns whether anybody watches them, whichever thread that is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare } from './harness.js';

test('a thread is notified that its meters are watched: at its start, for each new listener, and when the last one goes', async (t) => {
  const { supervisor, witness, say } = prepare({ audio: 'watches', power: 'watches' });
  t.after(() => supervisor.stop());
  const heard = () => witness.lines.filter(({ message }) => message.startsWith('levels'));
  // Before there is a thread.
  supervisor.watchLevels(true);
  supervisor.start(witness);
  await witness.until(() => heard().length === 1);
  supervisor.watchLevels(true);
  await witness.until(() => heard().length === 2);
  await say('audio', 'die');
  await witness.untilState('audio', 'up', 1);
  await witness.until(() => heard().length === 3);
  supervisor.watchLevels(false);
  await witness.until(() => heard().length === 4);
  await say('audio', 'die');
  await witness.untilState('audio', 'up', 2);
  await say('power', 'who');
  assert.deepEqual(
    heard().map(({ message, fields }) => [fields['backend'], message]),
    [
      ['audio', 'levels true'],
      ['audio', 'levels true'],
      ['audio', 'levels true'],
      ['audio', 'levels false'],
    ],
  );
});
