// Measured against by http.ts: uWebSockets.js alone, answering every GET with the answer that it is given, headers too.
// Its first argument is that answer as JSON: { headers: [name, value][], body }.

import { App, us_socket_local_port } from 'uWebSockets.js';
import { obey, ownCpu } from './fork.js';

interface Constant {
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

const { headers, body } = JSON.parse(process.argv[2] ?? '') as Constant;
const bytes = Buffer.from(body);

const app = App();
app.get('/*', (response) => {
  response.writeStatus('200 OK');
  for (const [name, value] of headers) response.writeHeader(name, value);
  response.end(bytes);
});
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('cannot listen');
  obey(us_socket_local_port(socket), { cpu: ownCpu });
});
