// Tests when the captures (source outputs) of other programs are read. The test itself answers the requests
// to the sound server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Captures } from '../../../src/actors/audio/captures.js';
import { error, reply } from '../../protocol/pulse/bytes.js';
import { ready } from '../../protocol/pulse/conversation.js';

/** `ready` has used the tags 0 and 1 for the handshake. */
const SUBSCRIBE_TAG = 2;
const FIRST_READ_TAG = 3;
const SECOND_READ_TAG = 4;
/** PA_ERR_UNKNOWN. */
const UNKNOWN_ERROR = 20;
/** The test never lets time pass. */
const NOW_MS = 0;

test('a capture that begins during a reading causes a second reading, even if the server refuses the first reading', () => {
  const { session } = ready();
  let successfulReads = 0;
  const captures = new Captures(() => {
    successfulReads += 1;
  });
  captures.begin({
    request: (command, args, settle) => session.request(command, args, NOW_MS, settle),
    close: (reason) => session.close(reason),
  });

  session.receive(reply(SUBSCRIBE_TAG));
  captures.onEvent({ facility: 'source-output', type: 'new', index: 9 });

  session.receive(error(FIRST_READ_TAG, UNKNOWN_ERROR));
  assert.equal(successfulReads, 0);

  session.receive(reply(SECOND_READ_TAG));
  assert.equal(successfulReads, 1);
});
