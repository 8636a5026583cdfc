// The gateway is compared with this program by fanout.ts: uWebSockets.js alone, which writes the same bytes
// to every stream each 50 ms. The bytes are made once, and only the time in them is new. With the argument
// `ended` it writes a comment after each event, as the gateway does. uWebSockets.js sends the end of a chunk
// only with the next chunk (gateway/response-stream.ts). So without the comment, a client that takes only
// whole chunks would get each event one event late.

import { App, type HttpResponse, us_socket_local_port } from 'uWebSockets.js';
import { obey, ownCpu, Repetition } from './fork.js';
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
  const writing = new Repetition(EVERY_MS, () => {
    stamp(BYTES, nowUs());
    for (const response of streams) {
      response.cork(() => {
        response.write(BYTES);
        if (isEnded) response.write(':\n');
      });
    }
  });
  obey(us_socket_local_port(socket), { ...writing.orders, cpu: ownCpu });
});
