// Serves one request: checks whether the request is trusted, then whether the client may change something,
// then route and method, and runs the route. A request that is not trusted has no effect.

import { type Clock, within } from '../host/clock.js';
import { errorText } from '../printable.js';
import type { Log } from '../protocol/actor/messages.js';
import { documentedPath, type Params } from '../protocol/actor/parameters.js';
import type { ControlChoice } from '../protocol/actor/settings.js';
import { BODY_TOO_LARGE, parseBody } from './body.js';
import type { EventHub } from './events/hub.js';
import { parseEventQuery } from './events/query.js';
import type { Exchange } from './exchange.js';
import type { HostIdentity } from './host-identity.js';
import type { OperationReplies } from './operation-replies.js';
import type { Page } from './page.js';
import { type Problem, problem, problemOfError, problemReply, SHUTTING_DOWN } from './problem.js';
import { refusedNameReply } from './refused-name.js';
import { type HeaderPairs, METRICS_TYPE, NO_STORE } from './reply.js';
import type { RequestCounts } from './request-counts.js';
import { allowedMethods, type OperationRoute, type RouteMatch, type Router } from './routes.js';
import type { ExchangeHandler } from './server.js';
import {
  ambiguityProblem,
  controlProblem,
  corsHeaders,
  isOpenToHouse,
  type OriginStanding,
  optionsReply,
  originProblem,
  originStanding,
} from './trust.js';

/** The parts that are made from the configuration, and made again when it changes. */
export interface ConfiguredParts {
  readonly router: Router;
  readonly control: ControlChoice;
  readonly page: Page;
}

export interface HandlerParts {
  readonly configured: ConfiguredParts;
  readonly replies: Pick<OperationReplies, 'reply'>;
  readonly hub: Pick<EventHub, 'openStream'>;
  /** `host:port` at which the client with this IP address reaches the node. */
  readonly hostAndPortFor: (client: string) => string;
  readonly identity: HostIdentity;
  /** True for the origin of another node whose pages are trusted. */
  readonly isOfTrustedNode: (origin: string) => boolean;
  readonly requests: RequestCounts;
  /** The text of `GET /metrics`. */
  readonly metrics: () => Promise<string>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * No promise means that the request is answered already, or has become a stream. A promise settles when the
 * request is answered or has become a stream, or when the client is gone.
 */
type Handled = void | Promise<void>;

const STREAM_HEADERS: HeaderPairs = [
  ['Content-Type', 'text/event-stream'],
  ['Cache-Control', 'no-cache'],
  // Without this header nginx would keep events in its buffer.
  ['X-Accel-Buffering', 'no'],
];

const BODY_PROBLEMS = {
  'too-large': BODY_TOO_LARGE,
  'too-slow': problem('bad-request', 'The body did not arrive in time'),
} as const;

const TOO_MANY_STREAMS = problem(
  'too-many-streams',
  'No more streams can be opened: api.sse.maxClients or the limit of open files is reached',
);

export class RequestHandler implements ExchangeHandler {
  readonly #parts: HandlerParts;
  /** The pending answers to requests of clients and children. Event streams are not among them. */
  readonly #pendingAnswers = new Set<Promise<unknown>>();
  #configured: ConfiguredParts;
  #isShutDown = false;

  constructor(parts: HandlerParts) {
    this.#parts = parts;
    this.#configured = parts.configured;
  }

  /** Later requests are served by the new parts. */
  reconfigure(configured: ConfiguredParts): void {
    this.#configured = configured;
  }

  get isShutDown(): boolean {
    return this.#isShutDown;
  }

  /**
   * From now on every trusted request gets the answer 503. Resolves when all earlier requests are answered,
   * at the latest after `withinMs`.
   */
  async shutDown(withinMs: number): Promise<void> {
    this.#isShutDown = true;
    await within(this.#parts.clock, withinMs, Promise.allSettled(this.#pendingAnswers));
  }

  serve(exchange: Exchange): Handled {
    this.#count(exchange);
    const avahiAnswer = this.#parts.identity.askAvahiIfNeeded(exchange.header('host'));
    const handled =
      avahiAnswer === undefined ? this.#serveIfTrusted(exchange) : this.#serveAfter(avahiAnswer, exchange);
    return handled && this.track(handled);
  }

  #count(exchange: Exchange): void {
    const { requests, clock } = this.#parts;
    const arrivedAt = clock.monotonic();
    exchange.onAnswer = (status) => requests.note(exchange.routeName, status, clock.monotonic() - arrivedAt);
  }

  /** Makes `shutDown` wait for this answer. */
  track<T>(answer: Promise<T>): Promise<T> {
    this.#pendingAnswers.add(answer);
    const forget = (): boolean => this.#pendingAnswers.delete(answer);
    answer.then(forget, forget);
    return answer;
  }

  async #serveAfter(avahiAnswer: Promise<void>, exchange: Exchange): Promise<void> {
    // Without `keep` the headers could not be read after the await.
    exchange.keep();
    await avahiAnswer;
    if (!exchange.isGone) await this.#serveIfTrusted(exchange);
  }

  #serveIfTrusted(exchange: Exchange): Handled {
    const { identity, hostAndPortFor } = this.#parts;
    const host = exchange.header('host');
    const origin = exchange.header('origin');
    const standing = this.#standingOf(exchange, origin, host);
    // The refusals below have these headers, too, so that a page can read why its request is refused.
    exchange.setHeaders(corsHeaders(origin, standing, identity.rules));
    const ambiguity = ambiguityProblem(exchange);
    if (ambiguity !== undefined) return refuseAmbiguous(exchange, ambiguity);
    const wrongHost = identity.hostProblem(host);
    if (wrongHost !== undefined)
      return exchange.answer(refusedNameReply(wrongHost, exchange, hostAndPortFor));
    const wrongOrigin = originProblem(exchange.method, origin, standing, exchange.header('sec-fetch-site'));
    if (wrongOrigin !== undefined) return answerProblem(exchange, wrongOrigin);
    if (this.#isShutDown) return refuseAndClose(exchange, SHUTTING_DOWN);
    if (exchange.method === 'OPTIONS') return this.#serveOptions(exchange, origin, standing);
    return this.#serveTrusted(exchange, standing);
  }

  /**
   * `originStanding` does not know the origins of other nodes, so it calls their pages foreign. But on some
   * routes the page of a trusted node is allowed (docs/http-api.md, "The house").
   */
  #standingOf({ path }: Exchange, origin: string, host: string): OriginStanding {
    const { identity, isOfTrustedNode } = this.#parts;
    const standing = originStanding(origin, host, identity.rules);
    if (standing !== 'foreign' || !isOfTrustedNode(origin)) return standing;
    const match = this.#configured.router.match(path);
    return match.ok && isOpenToHouse(match.value.route.path) ? 'allowed' : standing;
  }

  #serveOptions(exchange: Exchange, origin: string, standing: OriginStanding): Handled {
    const match = this.#configured.router.match(exchange.path);
    if (!match.ok) return answerProblem(exchange, match.error);
    const asksForPrivateNetwork = exchange.header('access-control-request-private-network') === 'true';
    const request = { origin, standing, asksForPrivateNetwork };
    // The reply to OPTIONS has its own CORS headers, so those of `#serveIfTrusted` are removed.
    exchange.setHeaders([]);
    exchange.answer(optionsReply(request, allowedMethods(match.value), this.#parts.identity.rules));
  }

  #serveTrusted(exchange: Exchange, standing: OriginStanding): Handled {
    // A client that may change nothing can still read, so only its POST is refused.
    const changeProblem = controlProblem(this.#configured.control, exchange);
    if (changeProblem !== undefined && exchange.method === 'POST')
      return answerProblem(exchange, changeProblem);
    const mayChange = changeProblem === undefined;
    const match = this.#configured.router.match(exchange.path);
    if (!match.ok) return answerProblem(exchange, match.error);
    // HEAD uses the GET route; the exchange leaves out the body.
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
    const { route: firstRoute, other: secondRoute, params } = match.value;
    // A path has at most two routes: one for GET, and one for POST.
    const route = firstRoute.method === method ? firstRoute : secondRoute;
    if (route?.method !== method) return refuseMethod(exchange, match.value);
    return this.#serveRoute(exchange, standing, { route, params }, mayChange);
  }

  onFault(exchange: Exchange, error: unknown): void {
    const stack = error instanceof Error ? error.stack : undefined;
    const reason = stack ?? errorText(error);
    this.#parts.log('error', 'a request failed inside the gateway', { path: exchange.path, reason });
    try {
      answerProblem(exchange, problemOfError(error));
    } catch (secondError) {
      this.#parts.log('error', 'a failed request could not be answered', { reason: String(secondError) });
    }
    // `cut` ends a stream that has begun. After an answer it does nothing.
    exchange.cut();
  }

  #serveRoute(
    exchange: Exchange,
    standing: OriginStanding,
    { route, params }: Pick<RouteMatch, 'route' | 'params'>,
    mayChange: boolean,
  ): Handled {
    const { replies } = this.#parts;
    const { page } = this.#configured;
    exchange.routeName = 'name' in route ? route.name : route.kind;
    if (route.kind === 'events') return this.#openStream(exchange);
    if (route.kind === 'metrics') return this.#sendMetrics(exchange);
    if (route.kind === 'page')
      return exchange.answer(page.reply(exchange, standing, route.part, params['file']));
    if (route.method === 'POST') return this.#servePost(exchange, route, params);
    const ifNoneMatch = exchange.header('if-none-match');
    // Only events and logs have parameters in the query, and events are served above.
    const query = route.kind === 'log' ? exchange.query() : '';
    const reply = replies.reply(route, { params, mayChange, ifNoneMatch, query });
    return reply instanceof Promise ? reply.then((ready) => exchange.answer(ready)) : exchange.answer(reply);
  }

  async #sendMetrics(exchange: Exchange): Promise<void> {
    const body = await this.#parts.metrics();
    exchange.answer({ status: 200, headers: [METRICS_TYPE, NO_STORE], body });
  }

  async #servePost(exchange: Exchange, operation: OperationRoute, params: Params): Promise<void> {
    const contentType = exchange.header('content-type');
    const received = await exchange.receiveBody();
    if (received.kind === 'gone') return;
    // The client may still send the rest of this body. That rest would be read as the next request, so the
    // connection is closed.
    if (received.kind !== 'whole') return refuseAndClose(exchange, BODY_PROBLEMS[received.kind]);
    const body = parseBody(contentType, received.bytes);
    if (!body.ok) return answerProblem(exchange, body.error);
    exchange.answer(
      await this.#parts.replies.reply(operation, { params, mayChange: true, json: body.value }),
    );
  }

  #openStream(exchange: Exchange): Handled {
    const query = parseEventQuery(exchange.query(), exchange.header('last-event-id'));
    if (!query.ok) return answerProblem(exchange, problem('bad-query', query.error));
    if (exchange.method === 'HEAD') return exchange.answer({ status: 200, headers: STREAM_HEADERS });
    // This call sends nothing yet, so the request can still be refused below.
    const sink = exchange.openStream(STREAM_HEADERS);
    const stream = this.#parts.hub.openStream(query.value, sink);
    // Only a limited number of connections may be open, and requests need them. So a refused stream does not
    // keep its connection.
    if (stream.ok) sink.attach(stream.value);
    else refuseAndClose(exchange, TOO_MANY_STREAMS);
  }
}

function answerProblem(exchange: Exchange, found: Problem): void {
  exchange.answer(problemReply(found));
}

function refuseAndClose(exchange: Exchange, found: Problem): void {
  exchange.answer({ ...problemReply(found), closesConnection: true });
}

/**
 * The end of an ambiguous request may be unclear, so the bytes that follow must not be answered as another
 * request. Therefore the refusal closes the connection. Before that, the function waits until the whole
 * packet is parsed: if the packet has another request, uWebSockets.js closes the connection without an
 * answer, because the ambiguous request is still pending (docs/development/what-we-learnt.md,
 * "uWebSockets.js").
 */
async function refuseAmbiguous(exchange: Exchange, found: Problem): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  refuseAndClose(exchange, found);
}

function refuseMethod(exchange: Exchange, match: RouteMatch): void {
  const allow = allowedMethods(match);
  const wrongMethod = problem(
    'wrong-method',
    `Path ${documentedPath(match.route.path)} has only the methods ${allow}`,
  );
  exchange.answer(problemReply(wrongMethod, [['Allow', allow]]));
}
