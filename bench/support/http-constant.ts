// The daemon is compared with this program by http.ts, crowds.ts, rest.ts and storm.ts: uWebSockets.js
// alone, which answers every GET with a constant. Its first argument is that answer as JSON: { headers:
// [name, value][], body, reads }. `reads` are headers that it reads from each request, and does nothing
// with. With a second argument it listens on every address. The argument is the number of connections that
// it keeps from addresses other than 127.0.0.1. For each further one it closes the oldest of them.

import { App, type HttpRequest, type HttpResponse, us_socket_local_port } from 'uWebSockets.js';
import { obey, ownCpu } from './fork.js';

interface Constant {
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  readonly reads?: readonly string[];
}

const LOOPBACK = '127.0.0.1';

const { headers, body, reads } = JSON.parse(process.argv[2] ?? '') as Constant;
const bytes = Buffer.from(body);

const app = App();
app.get('/*', (response, request) => {
  if (reads !== undefined) read(request, reads);
  response.writeStatus('200 OK');
  for (const [name, value] of headers) response.writeHeader(name, value);
  response.end(bytes);
});
const keptMax = process.argv[3];
if (keptMax !== undefined) closeBeyond(Number(keptMax));
app.listen(keptMax === undefined ? LOOPBACK : '0.0.0.0', 0, (socket) => {
  if (socket === false) throw new Error('cannot listen');
  obey(us_socket_local_port(socket), { cpu: ownCpu });
});

/**
 * Reads what a server that trusts no client must read: method, URL, the name of each header, and the values
 * of `names`.
 */
function read(request: HttpRequest, names: readonly string[]): void {
  request.getCaseSensitiveMethod();
  request.getUrl();
  const headerNames = new Set<string>();
  request.forEach((name) => {
    headerNames.add(name);
  });
  for (const name of names) request.getHeader(name);
}

/**
 * uWebSockets.js reports a closed connection with another object than the open one. So the closed connection
 * is recognized by its lack of an address. A closed connection that was answered is not searched for,
 * because in crowds.ts only connections from 127.0.0.1 get answers.
 */
function closeBeyond(keptConnectionsMax: number): void {
  const open = new Set<HttpResponse>();
  let isClosing = false;
  const enter = (response: HttpResponse): void => {
    if (addressOf(response) === LOOPBACK) return;
    open.add(response);
    const [oldest] = open;
    if (open.size <= keptConnectionsMax || oldest === undefined) return;
    open.delete(oldest);
    // `close` calls the filter below before it returns, for a connection that is no longer in `open`.
    isClosing = true;
    oldest.close();
    isClosing = false;
  };
  const leave = (closed: HttpResponse): void => {
    const wasAnswered = closed.getWriteOffset() > 0;
    if (wasAnswered) return;
    for (const connection of open) {
      if (addressOf(connection) !== '') continue;
      open.delete(connection);
      return;
    }
  };
  const onChange = (response: HttpResponse, change: number): void => {
    if (change > 0) enter(response);
    else if (!isClosing) leave(response);
  };
  app.filter((response, change) => onChange(response, Number(change)));
}

/** The IPv4 address; '' after the connection has closed. */
function addressOf(response: HttpResponse): string {
  return Buffer.from(response.getRemoteAddress()).join('.');
}
