// Assembles the gateway: journal, documents, event hub, router and server; and passes the children's changes on to them. main.ts connects
// it to the supervisor and the network.

import type { Clock } from '../clock.js';
import type { InterfaceAddresses } from '../own-addresses.js';
import { type BackendHealth, CHILD_NAMES, type ChildName, SUBSCRIBERS } from '../protocol/actor/backends.js';
import type {
  BackendListener,
  BackendRecord,
  Backends,
  Change,
  ChildListener,
  Log,
  ServedRecord,
} from '../protocol/actor/messages.js';
import { AvahiNames } from './avahi-names.js';
import { BridgeFeeds, carryOut } from './bridges.js';
import { type ConnectionLimits, connectionLimits } from './connection-limits.js';
import { Covers } from './covers.js';
import { Documents } from './documents.js';
import { EventHub } from './events/hub.js';
import { RequestHandler } from './handler.js';
import { HostIdentity } from './host-identity.js';
import { Journal } from './journal.js';
import { ListeningSockets } from './listening.js';
import { healthRecord, type NodeInfo, serverRecord } from './node-info.js';
import { OperationReplies } from './operation-replies.js';
import { Page, type PageFiles } from './page.js';
import { ResponseMaker } from './reply.js';
import { lackingKey, ROUTES, Router, type RouteSettings } from './routes.js';
import { createServer } from './server.js';

/** The share of the time for pending answers; the rest is for `bye` to reach slow readers. */
const ANSWERS_SHARE = 0.5;
/** Avahi usually has a record of it for this host. */
const LOOPBACK_ADDRESS = '127.0.0.1';

export interface GatewayOptions {
  readonly settings: RouteSettings;
  readonly node: NodeInfo;
  readonly backends: Backends;
  readonly interfaces: () => InterfaceAddresses;
  readonly version: string;
  /** Empty if `api.ui.enabled` is false. */
  readonly page: PageFiles;
  readonly log: Log;
  readonly clock: Clock;
  /** The plain socket of Avahi, which may be absent. */
  readonly avahiSocket: string;
}

export interface Gateway {
  readonly listener: ChildListener;
  /** Resolves when an enabled child has reported that it is up, or why not; at the latest after `withinMs`. */
  verdict(child: ChildName, withinMs: number): Promise<void>;
  /**
   * Listens on the addresses of `bind`, and follows them as they come and go. Call it once. Port 0 means any free port, the same for
   * all. Does not throw: an address that cannot be listened on is in `refused`, and is tried again.
   */
  listen(bind: readonly string[], port: number): Pick<ListeningSockets, 'port' | 'refused'>;
  /**
   * Refuses new requests, waits for pending answers, sends `bye` to the streams, and cuts what is left after `withinMs`.
   * Resolves by then, and never rejects. Only the first call counts; later calls get its promise.
   */
  close(withinMs: number): Promise<void>;
}

/** Serves nothing before `listen`. Every enabled child is `connecting` until its first health report. */
export function createGateway(options: GatewayOptions): Gateway {
  const { settings, node, backends, version, log, clock, interfaces } = options;
  // Letters and digits only, because it is part of event ids and quoted entity tags.
  const boot = Math.floor(clock.date()).toString(36) + Math.floor(clock.random() * 36 ** 6).toString(36);
  const responses = new ResponseMaker(boot);
  const journal = new Journal();
  // Each child has a section of its own name in the settings.
  const enabled = CHILD_NAMES.filter((name) => settings[name].enabled);
  const documents = new Documents(enabled, journal, responses, clock);
  const limits = limitsOf(options);
  const hub = new EventHub({
    ...{ boot, clock, journal, maxClients: limits.streams },
    watchLevels: (isWatched) => backends.watchLevels(isWatched),
  });
  const covers = new Covers(backends);
  let sockets: ListeningSockets | undefined;
  const feeds = new BridgeFeeds(journal);
  const intake = new Intake({ journal, documents, hub, feeds, clock });
  const publishServed = (): void =>
    intake.served({ port: sockets?.port ?? settings.api.port, addresses: sockets?.state.listening ?? [] });
  const { hosts, cors } = settings.api;
  const identity = new HostIdentity({
    hostname: () => node.hostname,
    settings: { hosts, origins: cors.origins },
    avahi: new AvahiNames({
      addresses: () => [LOOPBACK_ADDRESS, ...(sockets?.reachable() ?? [])],
      socketPath: options.avahiSocket,
      clock,
    }),
  });
  const replies = new OperationReplies({
    ...{ documents, responses, backends, covers, clock },
    serverRecord: () => serverRecord(node, identity.hostname(), version, settings),
    healthRecord: (uptimeMs) =>
      healthRecord({
        ...{ version, uptimeMs, streams: hub.stats(), backends: documents.allHealth() },
        listening: sockets?.state ?? { listening: [], waiting: [] },
      }),
    openapi: () => openapiText(options),
  });
  const handler = new RequestHandler({
    router: new Router(ROUTES, settings),
    ...{ identity, replies, hub, clock, log },
    placeFor: (client) => sockets?.placeFor(client) ?? 'localhost',
    page: new Page(options.page, cors.origins, boot),
  });
  const server = createServer(handler, clock, limits, (peer) =>
    log('warn', 'too many connections: those without a request are closed first', { ...limits, peer }),
  );
  let end: Promise<void> | undefined;
  return {
    listener: {
      changes: intake.changes,
      level: intake.level,
      health: intake.health,
      pulled: (child, isFirst, send) => feeds.pulled(child, isFirst, send),
      asked: (_child, request) => handler.awaited(carryOut(request, { handler, replies, settings, log })),
    },
    verdict: async (child, withinMs) => documents.firstVerdict(child, withinMs),
    listen: (bind, port) => {
      sockets = new ListeningSockets({
        ...{ bind, port, interfaces, open: server.open, clock, log },
        changed: publishServed,
      });
      publishServed();
      return { port: sockets.port, refused: sockets.refused };
    },
    close: (withinMs) => {
      sockets?.stop();
      end ??= shutDown({ handler, streams: hub, server, clock }, withinMs).then(() => feeds.end());
      return end;
    },
  };
}

interface Recipients {
  readonly journal: Journal;
  readonly documents: Documents;
  readonly hub: EventHub;
  readonly feeds: BridgeFeeds;
  readonly clock: Pick<Clock, 'date'>;
}

/** Applies changes to the journal first, then to streams and bridges, so that a client that reads after an event finds the change. */
class Intake implements BackendListener {
  readonly #to: Recipients;
  readonly #hasSubscribers: boolean;

  /** Publishes the health of every enabled child, from `documents`. */
  constructor(to: Recipients) {
    this.#to = to;
    const children = to.documents.allHealth();
    this.#hasSubscribers = SUBSCRIBERS.some((name) => children.has(name));
    this.changes([...children].map(([child, health]) => backendChange(child, health)));
  }

  readonly changes = (changes: readonly Change[]): void => {
    const { journal, hub, feeds, clock } = this.#to;
    const date = clock.date();
    const entries = journal.apply(changes, date);
    if (entries.length === 0) return;
    hub.publish(entries, date);
    if (this.#hasSubscribers) feeds.changed(entries);
  };

  readonly level = (json: string): void => this.#to.hub.publishLevel(json);

  /** Publishes health and removals in one step, so that a client that sees the removals also sees that the backend is not up. */
  readonly health = (child: ChildName, health: BackendHealth): void => {
    const { documents, journal } = this.#to;
    documents.health(child, health);
    this.changes([backendChange(child, health), ...(health.state === 'up' ? [] : journal.leaving(child))]);
  };

  served(served: ServedRecord): void {
    this.changes([{ kind: 'put', collection: 'served', key: '', json: JSON.stringify(served) }]);
  }
}

function backendChange(backend: ChildName, health: BackendHealth): Change {
  const record: BackendRecord = { backend, ...health };
  return { kind: 'put', collection: 'backends', key: backend, json: JSON.stringify(record) };
}

export interface ShutdownParts {
  /** From then on new requests are refused. */
  readonly handler: { shutDown(withinMs: number): Promise<void> };
  /** Cuts what is left after the given time. */
  readonly streams: { bye(withinMs: number): Promise<void> };
  readonly server: { close(): void };
  readonly clock: Clock;
}

/**
 * Resolves within `withinMs`, even if backends do not answer or clients do not read. Answers come first, because the SIGTERM
 * of a reboot may overtake logind's answer: `power.action` must precede `bye`.
 */
export async function shutDown(
  { handler, streams, server, clock }: ShutdownParts,
  withinMs: number,
): Promise<void> {
  const deadline = clock.monotonic() + withinMs;
  await handler.shutDown(withinMs * ANSWERS_SHARE);
  await streams.bye(Math.max(0, deadline - clock.monotonic()));
  server.close();
}

async function openapiText({ settings, version }: GatewayOptions): Promise<string> {
  const routes = ROUTES.filter((route) => lackingKey(route, settings) === undefined);
  return JSON.stringify((await import('./openapi.js')).openapiDocument(routes, version));
}

function limitsOf({ settings, node, log }: GatewayOptions): ConnectionLimits {
  const { enabled, maxClients } = settings.api.sse;
  const limits = connectionLimits(maxClients, node.descriptorsMax ?? Number.POSITIVE_INFINITY);
  if (enabled && limits.streams < maxClients) {
    const facts = { allowed: limits.streams, api_sse_maxClients: maxClients };
    log('warn', 'the limit of open files allows fewer event streams than the configuration', facts);
  }
  return limits;
}
