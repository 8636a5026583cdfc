// Decides the reply to a request whose host name is not a name of the node. Programs get a problem, and
// people get a page with an address that works.

import type { Exchange } from './exchange.js';
import { PROBLEMS, type Problem, problemReply } from './problem.js';
import { type HttpReply, weightsIn } from './reply.js';
import { parseHost } from './trust.js';

/**
 * `hostAndPortFor` returns the `host:port` at which the client reaches the node. This function reads the
 * interfaces of the machine, so it is called only if the reply is a page.
 */
export function refusedNameReply(
  nameProblem: Problem,
  request: Pick<Exchange, 'header' | 'path' | 'peer'>,
  hostAndPortFor: (clientAddress: string) => string,
): HttpReply {
  if (!prefersHtml(request.header('accept'))) return problemReply(nameProblem);
  const { status, title } = PROBLEMS[nameProblem.fault];
  const host = request.header('host');
  const name = escapeHtml(parseHost(host)?.host ?? host);
  const address = escapeHtml(`http://${hostAndPortFor(request.peer)}${request.path}`);
  return {
    status,
    headers: [
      ['Content-Type', 'text/html; charset=utf-8'],
      ['Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'"],
      ['X-Content-Type-Options', 'nosniff'],
      ['Cache-Control', 'no-store'],
    ],
    body: `<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<p>This node is not called <b>${name}</b>: open <a href="${address}">${address}</a>, or add the name to <code>api.hosts</code> in its configuration.
`,
  };
}

/**
 * True if the client prefers HTML to JSON, as browsers do; false if the client accepts both equally (RFC
 * 9110, section 12.5.1).
 */
export function prefersHtml(accept: string): boolean {
  const weights = weightsIn(accept);
  const weightOf = (type: string, range: string): number =>
    weights.get(type) ?? weights.get(range) ?? weights.get('*/*') ?? 0;
  const htmlWeight = weightOf('text/html', 'text/*');
  return ['application/problem+json', 'application/json'].every(
    (type) => htmlWeight > weightOf(type, 'application/*'),
  );
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
