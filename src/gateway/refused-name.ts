// The reply to a request whose Host is not a name of this node: a problem, or for a browser a page with an address that works.
// Pure; trust.ts decides who is refused.

import type { Exchange } from './exchange.js';
import { PROBLEMS, type Problem, problemReply } from './problem.js';
import type { HttpReply } from './reply.js';
import { parseHost } from './trust.js';

/** In the form without a weight, which is the full one. */
const NO_PAGES = ['application/problem+json', 'application/json', 'application/*', '*/*'] as const;

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

/** True for a browser that loads a page: it gives a page its full weight, and JSON or anything less, or none. */
export function prefersHtml(accept: string): boolean {
  const fullyAccepted = accept.split(',').map((range) => range.trim().toLowerCase());
  return fullyAccepted.includes('text/html') && !NO_PAGES.some((type) => fullyAccepted.includes(type));
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character);
}
