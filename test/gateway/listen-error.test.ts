// Tests when a port that is taken ends the start (docs/configuration.md, "Addresses"). The sockets are real.

import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { listenProblem } from '../../src/gateway/listen-error.js';
import { freePort } from '../tools/free-port.js';
import { v4 } from './interfaces.js';

/** The interface `loops` is invented. Servers can listen at its addresses, as at all of 127.0.0.0/8. */
const INTERFACES = { lo: [v4('127.0.0.1')], loops: [v4('127.0.0.5'), v4('127.0.0.6')] };

/**
 * The start continues if at least one entry of `bind` can be served now or later. An interface with several
 * addresses counts as taken if one of them is taken. The interface `wlan7` may still appear.
 */
const cases: readonly (readonly [bind: string[], taken: string[], problemAt: string | undefined])[] = [
  [['127.0.0.1'], [], undefined],
  [['127.0.0.1'], ['127.0.0.1'], '127.0.0.1'],
  [['127.0.0.1', '127.0.0.3'], ['127.0.0.3'], undefined],
  [['127.0.0.1', '127.0.0.3'], ['127.0.0.1'], undefined],
  [['127.0.0.3', '127.0.0.4'], ['127.0.0.3', '127.0.0.4'], '127.0.0.3'],
  [['loops'], ['127.0.0.6'], '127.0.0.6'],
  [['loops', '127.0.0.3'], ['127.0.0.6'], undefined],
  [['127.0.0.1', 'wlan7'], ['127.0.0.1'], undefined],
];
for (const [bind, taken, problemAt] of cases) {
  const end = problemAt === undefined ? 'continues' : `ends because of ${problemAt}`;
  test(`the start with ${bind.join(' ')} ${end} where ${taken.join(' ') || 'nothing'} is taken`, async (t) => {
    const port = await freePort();
    for (const address of taken) {
      const server = createServer();
      t.after(() => server.close());
      await new Promise<void>((resolve) => server.listen(port, address, resolve));
    }
    const problem = await listenProblem(bind, port, INTERFACES);
    const [, address] = /^cannot listen on (\S+) port \d+: the port is taken by /.exec(problem ?? '') ?? [];
    assert.equal(address, problemAt, problem);
  });
}
