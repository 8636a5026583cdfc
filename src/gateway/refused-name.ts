// The reply to a request whose Host is not a name of this node: a problem, or for a browser a page with an address that works.
// Pure; trust.ts decides who is refused.

import type { Exchange } from './exchange.js';
import { PROBLEMS, type Problem, problemReply } from './problem.js';
import { type HttpReply, weightsIn } from './reply.js';
import { parseHost } from './trust.js';

const HTML = 'text/html';
const JSON_TYPES = ['application/problem+json', 'application/json'] as const;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** `placeFor` is that of `ListeningSockets`; it is called only for the page. */
export function refusedNameReply(
  found: Problem,
  request: Pick<Exchange, 'header' | 'path' | 'peer'>,
  placeFor: (client: string) => string,
): HttpReply {
  if (!prefersHtml(request.header('accept'))) return problemReply(found);
  const { status, title } = PROBLEMS[found.fault];
  const host = request.header('host');
  const name = escapeHtml(parseHost(host)?.host ?? host);
  const address = escapeHtml(`http://${placeFor(request.peer)}${request.path}`);
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

/** True for a browser that loads a page, false for a program that accepts anything (RFC 9110, section 12.5.1). */
export function prefersHtml(accept: string): boolean {
  const weights = weightsIn(accept);
  const [html, ...others] = [HTML, ...JSON_TYPES].map(
    (type) => weights.get(type) ?? weights.get(type.replace(/\/.*/, '/*')) ?? weights.get('*/*') ?? 0,
  );
  return others.every((other) => (html ?? 0) > other);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
