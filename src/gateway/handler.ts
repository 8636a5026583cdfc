// Serves one request: trust, then route, then method, then what the route asks for. Every request is answered here.
// It reads headers before it awaits anything, and lets nothing have an effect before trust has been checked.

import type { Clock } from '../clock.js';
import type { Backends, LogFields } from '../protocol/actor/messages.js';
import type { Resource } from '../protocol/actor/resources.js';
import type { ServerRecord } from '../protocol/actor/schemas.js';
import type { LogLevel } from '../protocol/actor/settings.js';
import type { Covers } from './covers.js';
import type { Documents } from './documents.js';
import type { EventHub } from './events/hub.js';
import { parseEventQuery } from './events/query.js';
import { BODY_LIMIT_BYTES, type Exchange } from './exchange.js';
import type { ListeningState } from './listening.js';
import { healthRecord } from './node-info.js';
import type { Page } from './page.js';
import { type Problem, problem, problemReply } from './problem.js';
import { refusedNameReply } from './refused-name.js';
import {
  ACCEPTED,
  type CachedResponse,
  cookieReply,
  type HeaderPair,
  type HttpReply,
  NEVER_KEEP,
  type ResponseMaker,
  replyOf,
} from './reply.js';
import { type Endpoint, type RouteMatch, type Router, routeFor } from './router.js';
import type { Action } from './routes.js';
import type { ExchangeHandler } from './server.js';
import {
  ambiguityOf,
  corsHeaders,
  distrustOrigin,
  type HostIdentity,
  optionsReply,
  originStanding,
} from './trust.js';

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

export interface HandlerParts {
  readonly router: Router;
  readonly documents: Documents;
  readonly responses: ResponseMaker;
  readonly backends: Backends;
  readonly covers: Pick<Covers, 'reply'>;
  readonly hub: Pick<EventHub, 'open' | 'stats'>;
  readonly listening: () => ListeningState;
  readonly placeFor: (client: string) => string;
  readonly identity: HostIdentity;
  readonly serverRecord: (hostname: string) => ServerRecord;
  readonly page: Page;
  /** The text of `GET /openapi.json`; asked for until it was given once. */
  readonly openapi: () => Promise<string>;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** As much of an exchange as is needed behind trust. */
export type TrustedExchange = Omit<Exchange, 'peer' | 'setHeaders' | 'repeated' | 'handlerReturned'>;
type ActionOf<K extends Action['kind']> = Extract<Action, { readonly kind: K }>;
type Handled = void | Promise<void>;

const JSON_TYPE: HeaderPair = ['Content-Type', 'application/json'];
const STREAM_HEADERS: readonly HeaderPair[] = [
  ['Content-Type', 'text/event-stream'],
  ['Cache-Control', 'no-cache'],
  ['X-Accel-Buffering', 'no'],
];

const BODY_PROBLEMS = {
  'too-large': problem('body-too-large', `The body is larger than ${BODY_LIMIT_BYTES} bytes`),
  'too-slow': problem('bad-request', 'The body did not arrive in time'),
} as const;

const TOO_MANY_STREAMS = problem(
  'too-many-streams',
  'As many streams are open as api.sse.maxClients and the limit of open files allow',
);

export class RequestHandler implements ExchangeHandler {
  readonly #parts: HandlerParts;
  readonly #startedDate: number;
  readonly #startedAt: number;
  #server: CachedResponse | undefined;
  #power: CachedResponse | undefined;
  #openapi: CachedResponse | undefined;
  #isShutDown = false;

  constructor(parts: HandlerParts) {
    this.#parts = parts;
    this.#startedDate = parts.clock.date();
    this.#startedAt = parts.clock.monotonic();
  }

  /** From now on every request is 503. */
  shutDown(): void {
    this.#isShutDown = true;
  }

  serve(exchange: Exchange): Handled {
    const { identity, router, placeFor } = this.#parts;
    const { rules } = identity;
    const [host, origin] = [exchange.header('host'), exchange.header('origin')];
    const standing = originStanding(origin, host, rules);
    exchange.setHeaders(corsHeaders(origin, standing, rules));
    const foreign = identity.distrust(host);
    if (foreign !== undefined) return exchange.answer(refusedNameReply(foreign, exchange, placeFor));
    const ambiguity = ambiguityOf(exchange);
    if (ambiguity !== undefined) return refuseAmbiguous(exchange, ambiguity);
    const distrust = distrustOrigin(exchange.method, origin, standing, exchange.header('sec-fetch-site'));
    if (distrust !== undefined) return refuse(exchange, distrust);
    if (exchange.method !== 'OPTIONS' || this.#isShutDown) return this.serveTrusted(exchange);
    const match = router.match(exchange.path);
    if (!match.ok) return refuse(exchange, match);
    const privateNetwork = exchange.header('access-control-request-private-network') === 'true';
    exchange.setHeaders([]);
    return exchange.answer(optionsReply({ origin, standing, privateNetwork }, match.endpoint.allow, rules));
  }

  /** What is behind trust: also for those who need not ask for it, the node's own bridges. */
  serveTrusted(exchange: TrustedExchange): Handled {
    if (this.#isShutDown) return refuseForGood(exchange, problem('shutting-down', 'The service is ending'));
    const match = this.#parts.router.match(exchange.path);
    if (!match.ok) return refuse(exchange, match);
    const route = routeFor(match.endpoint, exchange.method);
    if (route === undefined) return refuseMethod(exchange, match.endpoint);
    const { action } = route;
    const held = exchange.header('if-none-match');
    const verdict =
      route.method === 'GET' && 'backend' in action
        ? this.#parts.documents.firstVerdict(action.backend)
        : undefined;
    if (verdict === undefined) return this.#perform(exchange, action, match, held);
    return verdict.then(() => this.#perform(exchange, action, match, held));
  }

  onFault(exchange: TrustedExchange, error: unknown): void {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#parts.log('error', 'a request failed inside the gateway', { path: exchange.path, reason });
    try {
      refuse(exchange, problem('gateway-failed', 'The log of the service says more'));
    } catch (secondError) {
      this.#parts.log('error', 'a failed request could not be answered', { reason: String(secondError) });
    }
    // Nothing, unless it could not be answered: a stream that had begun ends here.
    exchange.cut();
  }

  /** `held` is the text of `If-None-Match`. */
  #perform(exchange: TrustedExchange, action: Action, match: RouteMatch, held: string): Handled {
    const { page, identity } = this.#parts;
    switch (action.kind) {
      case 'document':
        return exchange.answer(this.#documentReply(action.resource, held));
      case 'mutation':
        return this.#mutate(exchange, action, match);
      case 'text':
        return this.#answerText(exchange, action, held);
      case 'cookie':
        return this.#answerCookie(exchange, action);
      case 'cover':
        return this.#answerCover(exchange, action.player(match.params), held);
      case 'server':
        return exchange.answer(this.#serverReply(held));
      case 'health':
        return exchange.answer(this.#healthReply());
      case 'openapi':
        return this.#answerOpenapi(exchange, held);
      case 'events':
        return this.#openStream(exchange);
      case 'page':
        return exchange.answer(page.reply(exchange, identity.rules, action.part, match.params.get('file')));
    }
  }

  #documentReply(resource: Resource, held: string): HttpReply {
    const found = this.#parts.documents.read(resource);
    return 'fault' in found ? problemReply(found) : replyOf(found, held);
  }

  async #mutate(exchange: TrustedExchange, action: ActionOf<'mutation'>, match: RouteMatch): Promise<void> {
    const contentType = exchange.header('content-type');
    const body = await exchange.receiveBody();
    if (body.kind === 'gone') return;
    // What is left of the body on the connection would be taken for the next request, so the connection ends.
    if (body.kind !== 'whole') return refuseForGood(exchange, BODY_PROBLEMS[body.kind]);
    const answer = await action.run(this.#parts.backends, match.params, { contentType, bytes: body.bytes });
    if (answer.ok) exchange.answer(ACCEPTED);
    else refuse(exchange, answer);
  }

  async #answerText(exchange: TrustedExchange, action: ActionOf<'text'>, held: string): Promise<void> {
    const answer = await action.ask(this.#parts.backends);
    if (!answer.ok) return refuse(exchange, answer);
    if (answer.text === undefined)
      throw new Error('The backend answered without the text that was asked for');
    const { responses, clock } = this.#parts;
    this.#power = responses.remake(this.#power, answer.text, clock.date());
    exchange.answer(replyOf(this.#power, held));
  }

  async #answerCookie(exchange: TrustedExchange, action: ActionOf<'cookie'>): Promise<void> {
    const answer = await action.ask(this.#parts.backends);
    if (!answer.ok) return refuse(exchange, answer);
    if (answer.bytes === undefined) throw new Error('The backend answered without the cookie');
    exchange.answer(cookieReply(answer.bytes));
  }

  async #answerCover(exchange: TrustedExchange, player: string, held: string): Promise<void> {
    exchange.answer(await this.#parts.covers.reply(player, held));
  }

  #serverReply(held: string): HttpReply {
    const { responses, clock, identity, serverRecord } = this.#parts;
    const text = JSON.stringify(serverRecord(identity.hostname()));
    const changedAt = this.#server === undefined ? this.#startedDate : clock.date();
    this.#server = responses.remake(this.#server, text, changedAt);
    return replyOf(this.#server, held);
  }

  #healthReply(): HttpReply {
    const { version, clock, hub, documents, listening } = this.#parts;
    const record = healthRecord({
      version,
      uptimeMs: clock.monotonic() - this.#startedAt,
      streams: hub.stats(),
      listening: listening(),
      backends: documents.allHealth(),
    });
    return { status: 200, headers: [JSON_TYPE, NEVER_KEEP], body: JSON.stringify(record) };
  }

  /** Made once; a failure is not kept: what could not be loaded may be there the next time. */
  async #answerOpenapi(exchange: TrustedExchange, held: string): Promise<void> {
    const { openapi, responses } = this.#parts;
    this.#openapi ??= responses.make(await openapi(), this.#startedDate);
    exchange.answer(replyOf(this.#openapi, held));
  }

  #openStream(exchange: TrustedExchange): Handled {
    const parsed = parseEventQuery(exchange.query(), exchange.header('last-event-id'));
    if (!parsed.ok) return refuse(exchange, problem('bad-query', parsed.detail));
    if (exchange.method === 'HEAD') return exchange.answer({ status: 200, headers: STREAM_HEADERS });
    const { sink, attach } = exchange.openStream(STREAM_HEADERS);
    const stream = this.#parts.hub.open(parsed.query, sink);
    // Kept open, the connections of those that are refused would use up the room that is left for requests.
    if (stream === 'full') refuseForGood(exchange, TOO_MANY_STREAMS);
    else attach(stream);
  }
}

function refuse(exchange: TrustedExchange, found: Problem): void {
  exchange.answer(problemReply(found));
}

function refuseForGood(exchange: TrustedExchange, found: Problem): void {
  exchange.answer({ ...problemReply(found), close: true });
}

/**
 * Where the request ends is anyone's guess, so nothing behind it may be taken for one: it stays unanswered, which ends the
 * connection at the next request (measured), until its packet has been looked through.
 */
async function refuseAmbiguous(exchange: Exchange, found: Problem): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  refuseForGood(exchange, found);
}

function refuseMethod(exchange: TrustedExchange, endpoint: Endpoint): void {
  const found = problem('wrong-method', `Path ${endpoint.path} has only ${endpoint.allow}`);
  exchange.answer(problemReply(found, [['Allow', endpoint.allow]]));
}
