// Measured against by fanout.ts: uWebSockets.js alone, writing the same bytes to every stream each 50 ms.
// Its text is made once; only the time in it is new. With `ended` for an argument it writes a comment
// behind, as the gateway does, without which a client that takes whole chunks only would see each event one
// event late.

import { App, type HttpResponse, us_socket_local_port } from 'uWebSockets.js';
import { obey, ownCpu, repeating } from './fork.js';
import { nowUs, stamp, stampedOutput } from './stamped-output.js';

const EVERY_MS = 50;
const BYTES = Buffer.from(
  `id: mi86h3nd9tw8q3-1234\nevent: audio.output.updated\ndata: [${stampedOutput(0)}]\n\n`,
);

const isEnded = process.argv[2] === 'ended';
const streams = new Set<HttpResponse>();
const app = App();
app.get('/events', (response) => {
  streams.add(response);
  response.onAborted(() => streams.delete(response));
  response.cork(() => {
    response.writeStatus('200 OK');
    response.writeHeader('Content-Type', 'text/event-stream');
    response.write('retry: 3000\nevent: server.info\ndata: "connected"\n\n');
  });
});

app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('cannot listen');
  const writing = repeating(EVERY_MS, () => {
    stamp(BYTES, nowUs());
    for (const response of streams) {
      response.cork(() => {
        response.write(BYTES);
        if (isEnded) response.write(':\n');
      });
    }
  });
  obey(us_socket_local_port(socket), { ...writing, cpu: ownCpu });
});
