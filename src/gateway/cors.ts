// The response headers by which browsers learn what an allowed origin may do (contract, section 6). Pure.

import type { HeaderPair, Reply } from './reply.js';
import type { OriginStanding, TrustRules } from './trust.js';

const METHODS = 'GET, POST, OPTIONS';
const REQUEST_HEADERS = 'Content-Type, Last-Event-ID';
const EXPOSED_HEADERS = 'ETag, X-Cache-Updated-At, Retry-After, Allow, Content-Disposition';
/** Seconds. Without it browsers ask again every 5 s, which a volume slider feels. */
const PREFLIGHT_AGE_S = 600;

const VARY: HeaderPair = ['Vary', 'Origin'];
const NO_HEADERS: readonly HeaderPair[] = [];
const ONLY_VARY: readonly HeaderPair[] = [VARY];

/** On every answer but preflights. Where no origin is configured, answers do not depend on it and say nothing. */
export function corsHeaders(
  origin: string,
  standing: OriginStanding,
  rules: TrustRules,
): readonly HeaderPair[] {
  if (!rules.anyOrigin && rules.origins.size === 0) return NO_HEADERS;
  if (standing !== 'listed') return ONLY_VARY;
  return [allowOrigin(origin, rules), VARY, ['Access-Control-Expose-Headers', EXPOSED_HEADERS]];
}

/** The answer to OPTIONS. `allow` is the route's own list; `privateNetwork`: the browser asked for it. */
export function optionsReply(
  request: { readonly origin: string; readonly standing: OriginStanding; readonly privateNetwork: boolean },
  allow: string,
  rules: TrustRules,
): Reply {
  const headers: HeaderPair[] = [['Allow', allow]];
  if (request.standing === 'same' || request.standing === 'listed') {
    headers.push(
      allowOrigin(request.origin, rules),
      ['Access-Control-Allow-Methods', METHODS],
      ['Access-Control-Allow-Headers', REQUEST_HEADERS],
      ['Access-Control-Max-Age', String(PREFLIGHT_AGE_S)],
    );
    if (request.privateNetwork) headers.push(['Access-Control-Allow-Private-Network', 'true']);
  }
  headers.push(['Vary', 'Origin, Access-Control-Request-Private-Network']);
  return { status: 204, headers };
}

function allowOrigin(origin: string, rules: TrustRules): HeaderPair {
  return ['Access-Control-Allow-Origin', rules.anyOrigin ? '*' : origin];
}
