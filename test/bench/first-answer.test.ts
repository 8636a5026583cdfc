// Tests `firstAnswer` with programs that end without an answer, like a daemon that fails at its start.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstAnswer } from '../../bench/support/first-answer.js';
import { freePort } from '../tools/free-port.js';

const POLL_MS = 5;
/** This program closes its first connection without an answer, and ends. */
const CLOSING = `
  const server = require('node:net').createServer((socket) => { socket.end(); server.close(); });
  server.listen(Number(process.argv[1]), '127.0.0.1');`;

for (const [ending, code] of Object.entries({
  'ends at once': '',
  'closes the connection without an answer, and ends': CLOSING,
})) {
  test(`a measurement fails if its program ${ending}`, { timeout: 60_000 }, async () => {
    const port = await freePort();
    const started = firstAnswer([process.execPath, '-e', code, String(port)], {}, port, POLL_MS);
    await assert.rejects(started, { message: 'the program has ended without an answer' });
  });
}
