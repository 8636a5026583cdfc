// Assembles the gateway from its parts. main.ts connects the gateway to the supervisor and the network.

import type { Clock } from '../host/clock.js';
import type { InterfaceAddresses } from '../host/own-addresses.js';
import { CHILD_NAMES, type ChildName } from '../protocol/actor/backends.js';
import type { Backends, ChildListener, Log } from '../protocol/actor/messages.js';
import type { Settings } from '../protocol/actor/settings.js';
import { AvahiNames } from './avahi-names.js';
import { carryOutRequest, SubscriberFeeds } from './bridges.js';
import { type ConnectionLimits, connectionLimits } from './connection-limits.js';
import { Covers } from './covers.js';
import { Documents } from './documents.js';
import { EventHub } from './events/hub.js';
import { type ConfiguredParts, RequestHandler } from './handler.js';
import { HostIdentity } from './host-identity.js';
import { Intake } from './intake.js';
import { Journal } from './journal.js';
import { ListeningSockets } from './listening.js';
import { healthRecord, type NodeInfo, serverRecord } from './node-info.js';
import { OperationReplies } from './operation-replies.js';
import { Page, type PageFiles } from './page.js';
import { ResponseMaker } from './reply.js';
import { RequestCounts } from './request-counts.js';
import { missingKeyFor, ROUTES, Router, type RouteSettings } from './routes.js';
import { HttpServer } from './server.js';
import { shutDown } from './shut-down.js';
import { StartTime } from './start-time.js';
import { trustSettings } from './trust.js';

/** `AvahiNames` uses only the first few addresses, so this one, which usually has a name, is the first. */
const LOOPBACK_ADDRESS = '127.0.0.1';

export interface GatewayOptions {
  readonly settings: RouteSettings;
  readonly node: NodeInfo;
  readonly backends: Backends;
  /** `os.networkInterfaces()`, which may throw. */
  readonly interfaces: () => InterfaceAddresses;
  readonly version: string;
  /** Called the first time that `api.ui.enabled` is true. */
  readonly readPage: () => PageFiles;
  readonly log: Log;
  readonly clock: Clock;
  /** The path of the socket at which Avahi takes lines of text. A node without Avahi has no such socket. */
  readonly avahiSocket: string;
}

/** Serves nothing before `listen`. Every enabled child is `connecting` until its first health report. */
export class Gateway {
  /** Takes the reports and the requests of the children. */
  readonly listener: ChildListener;
  readonly #options: Omit<GatewayOptions, 'settings'>;
  #settings: RouteSettings;
  #pageFiles: PageFiles | undefined;
  /** It has only letters and digits, because it is part of event ids and quoted entity tags. */
  readonly #bootId: string;
  readonly #journal = new Journal();
  readonly #documents: Documents;
  readonly #hub: EventHub;
  readonly #feeds: SubscriberFeeds;
  readonly #intake: Intake;
  readonly #identity: HostIdentity;
  readonly #requestCounts = new RequestCounts();
  readonly #startTime: StartTime;
  readonly #replies: OperationReplies;
  readonly #handler: RequestHandler;
  readonly #server: HttpServer;
  #sockets: ListeningSockets | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: GatewayOptions) {
    const { settings, backends, clock, log } = options;
    this.#options = options;
    this.#settings = settings;
    this.#startTime = new StartTime(clock);
    const startText = Math.floor(clock.date()).toString(36);
    const randomText = Math.floor(clock.random() * 36 ** 6).toString(36);
    this.#bootId = startText + randomText;
    const bootId = this.#bootId;
    const responses = new ResponseMaker(bootId);
    const journal = this.#journal;
    this.#documents = new Documents(enabledChildren(settings), journal, responses, clock);
    const limits = limitsWithWarning(options);
    this.#hub = new EventHub({
      bootId,
      clock,
      journal,
      maxClients: limits.streams,
      watchLevels: (isWatched) => backends.watchLevels(isWatched),
    });
    this.#feeds = new SubscriberFeeds(journal);
    this.#intake = new Intake({
      journal,
      documents: this.#documents,
      hub: this.#hub,
      feeds: this.#feeds,
      clock,
    });
    this.#identity = this.#newIdentity();
    this.#replies = this.#newReplies(responses);
    this.#handler = this.#newHandler();
    const onFull = (peer: string): void =>
      log('warn', 'too many connections: those without a request are closed first', { ...limits, peer });
    this.#server = new HttpServer(this.#handler, clock, limits, onFull);
    this.listener = this.#newListener();
  }

  /**
   * Resolves when this child is up, has reported why it is not up, or is stopped, at the latest after
   * `withinMs`. Resolves at once if the child is not enabled.
   */
  async waitForFirstHealth(child: ChildName, withinMs: number): Promise<void> {
    await this.#documents.waitForFirstHealth(child, withinMs);
  }

  /**
   * Listens on each address of `bind` while the address exists. Call it once. Port 0 means one free port for
   * all addresses. The call never throws: `refused` has the addresses that exist but cannot be listened on.
   * The gateway tries these addresses again.
   *
   * The constructor of `ListeningSockets` may call `onListeningChanged`. At that time `#sockets` is not set,
   * so this call publishes no addresses. They are published afterwards.
   */
  listen(bind: readonly string[], port: number): Pick<ListeningSockets, 'port' | 'refused'> {
    const { interfaces, clock, log } = this.#options;
    this.#sockets = new ListeningSockets({
      bind,
      port,
      interfaces,
      open: (address, socketPort) => this.#server.open(address, socketPort),
      clock,
      log,
      onListeningChanged: () => this.#publishServedAddresses(),
    });
    this.#publishServedAddresses();
    return { port: this.#sockets.port, refused: this.#sockets.refused };
  }

  /**
   * Uses these settings from now on. Does nothing after `close`. Streams stay open. The port and the limit of
   * streams stay the same. `stopped` are the children whose settings have changed. Their threads must have
   * ended, and may start again only after this call, because the call forgets the children's records.
   */
  reconfigure(settings: RouteSettings & Pick<Settings, 'bind'>, stopped: readonly ChildName[]): void {
    if (this.#closing !== undefined) return;
    this.#settings = settings;
    this.#identity.reconfigure(trustSettings(settings));
    this.#handler.reconfigure(this.#configuredParts());
    this.#replies.onReconfigured();
    this.#intake.setEnabled(enabledChildren(settings), stopped);
    this.#sockets?.setBind(settings.bind);
  }

  /**
   * Closes the listening sockets, refuses new requests, waits for pending answers, sends `bye` to the
   * streams, and cuts all connections. Answers to children are pending answers, too: `RequestHandler.track`
   * collects them. At the end, subscribers get the changes that they lack, because their threads stop after
   * this call. Resolves within `withinMs`, and never rejects. Later calls only return the first promise.
   */
  close(withinMs: number): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  async #close(withinMs: number): Promise<void> {
    const { clock } = this.#options;
    this.#sockets?.stop();
    await shutDown({ handler: this.#handler, streams: this.#hub, server: this.#server, clock }, withinMs);
    this.#feeds.sendAllUnread();
  }

  #publishServedAddresses(): void {
    const port = this.#sockets?.port ?? this.#settings.api.port;
    this.#intake.publishServed({ port, addresses: this.#sockets?.state.listening ?? [] });
  }

  #newIdentity(): HostIdentity {
    const { node, clock, avahiSocket } = this.#options;
    return new HostIdentity({
      hostname: () => node.hostname,
      settings: trustSettings(this.#settings),
      avahi: new AvahiNames({
        addresses: () => [LOOPBACK_ADDRESS, ...(this.#sockets?.reachable() ?? [])],
        socketPath: avahiSocket,
        clock,
      }),
    });
  }

  #newReplies(responses: ResponseMaker): OperationReplies {
    const { node, backends, version, clock } = this.#options;
    return new OperationReplies({
      documents: this.#documents,
      responses,
      backends,
      covers: new Covers(backends, clock),
      clock,
      serverRecord: (mayChange) =>
        serverRecord(node, this.#identity.hostname(), version, this.#settings, mayChange),
      healthRecord: (uptimeMs) =>
        healthRecord({
          version,
          uptimeMs,
          streams: this.#hub.stats(),
          backends: this.#documents.allHealth(),
          listening: this.#sockets?.state ?? { listening: [], waiting: [] },
        }),
      openapiText: (mayChange) => openapiText(this.#settings, version, mayChange),
    });
  }

  #newHandler(): RequestHandler {
    const { clock, log } = this.#options;
    return new RequestHandler({
      configured: this.#configuredParts(),
      identity: this.#identity,
      replies: this.#replies,
      hub: this.#hub,
      clock,
      log,
      hostAndPortFor: (client) => this.#sockets?.hostAndPortFor(client) ?? 'localhost',
      requests: this.#requestCounts,
      metrics: () => this.#metrics(),
      isOfTrustedNode: (origin) => this.#journal.record('nodes.origins', origin) !== undefined,
    });
  }

  async #metrics(): Promise<string> {
    const { metricsText } = await import('./metrics.js');
    const { version, backends } = this.#options;
    return metricsText({
      version,
      startedAt: this.#startTime.startedAt() / 1000,
      uptimeSeconds: this.#startTime.uptimeMs() / 1000,
      health: this.#documents.allHealth(),
      threads: backends.threads(),
      streams: this.#hub.stats(),
      requests: this.#requestCounts,
      journal: this.#journal,
    });
  }

  #configuredParts(): ConfiguredParts {
    const { api } = this.#settings;
    if (api.ui.enabled) this.#pageFiles ??= this.#options.readPage();
    return {
      router: new Router(ROUTES, this.#settings),
      control: api.control,
      page: new Page({
        files: this.#pageFiles ?? new Map(),
        corsOrigins: api.cors.origins,
        configuredAt: this.#options.clock.monotonic(),
        bootId: this.#bootId,
        hostname: () => this.#identity.hostname(),
        // This node's page may speak to these origins. The pages of `nodes.origins` may speak to this node.
        house: () => ({
          origins: [...this.#journal.records('nodes.policy')].map(({ key }) => key),
          changeNumber: this.#journal.lastChange('nodes.policy').changeNumber,
        }),
      }),
    };
  }

  #newListener(): ChildListener {
    const { log } = this.#options;
    const handler = this.#handler;
    const replies = this.#replies;
    return {
      changes: this.#intake.changes,
      level: this.#intake.level,
      health: this.#intake.health,
      feedRequest: (child, isFirst, send) => this.#feeds.continueFeed(child, isFirst, send),
      childRequest: (_child, request) =>
        handler.track(carryOutRequest(request, { handler, replies, settings: this.#settings, log })),
    };
  }
}

function enabledChildren(settings: RouteSettings): readonly ChildName[] {
  return CHILD_NAMES.filter((name) => settings[name].enabled);
}

/** The document for clients that may change nothing has only the GET routes. */
async function openapiText(settings: RouteSettings, version: string, mayChange: boolean): Promise<string> {
  const enabled = ROUTES.filter((route) => missingKeyFor(route, settings) === undefined);
  const routes = mayChange ? enabled : enabled.filter(({ method }) => method === 'GET');
  const { openapiDocument } = await import('./openapi.js');
  return JSON.stringify(openapiDocument(routes, version));
}

function limitsWithWarning({ settings, node, log }: GatewayOptions): ConnectionLimits {
  const { enabled, maxClients } = settings.api.sse;
  const limits = connectionLimits(maxClients, node.descriptorsMax ?? Number.POSITIVE_INFINITY);
  if (enabled && limits.streams < maxClients) {
    const facts = { allowed: limits.streams, api_sse_maxClients: maxClients };
    log('warn', 'the limit of open files allows fewer event streams than the configuration', facts);
  }
  return limits;
}
