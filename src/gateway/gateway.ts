// Puts the gateway together: mirror, event hub, router and server. What main.ts wires between supervisor and network.

import { BACKENDS, type Backend } from '../protocol/actor/backends.js';
import type { BackendListener, Backends } from '../protocol/actor/messages.js';
import { CountedBackends } from './counted-backends.js';
import { EventHub } from './events/hub.js';
import type { Schedule } from './events/keepalive.js';
import { parseEventQuery } from './events/query.js';
import { type Log, RequestHandler } from './handler.js';
import { Mirror } from './mirror.js';
import { type NodeInfo, serverRecord } from './node-info.js';
import { PageMaker } from './page.js';
import { Router } from './router.js';
import { ROUTES, type RouteSettings } from './routes.js';
import { createServer, type ListenResult } from './server.js';
import type { EventStreams } from './streams.js';
import { trustRules } from './trust.js';

/** How long answers under way may keep `bye` waiting; the whole shutdown has 5 s (contract, section 1). */
const ANSWERS_MS_MAX = 1000;

export interface GatewayOptions {
  readonly settings: RouteSettings;
  readonly node: NodeInfo;
  readonly backends: Backends;
  readonly version: string;
  readonly log: Log;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  /** 0 <= x < 1. */
  readonly random: () => number;
}

export interface Gateway {
  readonly listener: BackendListener;
  /** All addresses or none. Port 0 takes a free one. */
  listen(addresses: readonly string[], port: number): ListenResult;
  /** Says `bye` to the streams, lets the answers under way end, and cuts what is left after 2 s. */
  close(): Promise<void>;
}

/** What every backend's part of the settings is called there is what the backend is called. */
function enabledBackends(settings: RouteSettings): readonly Backend[] {
  return BACKENDS.filter((backend) => settings[backend].enabled);
}

export function createGateway(options: GatewayOptions): Gateway {
  const { settings, node, version, now, random } = options;
  const started = options.monotonic();
  const boot = bootName(now(), random());
  const pages = new PageMaker(boot);
  const mirror = new Mirror(enabledBackends(settings), pages, now);
  const hub = new EventHub({
    boot,
    now: options.monotonic,
    random,
    maxClients: settings.api.sse.maxClients,
    source: mirror,
    schedule: later,
  });
  const routes = ROUTES.filter((route) => route.exists(settings));
  const backends = new CountedBackends(options.backends, later);
  const handler = new RequestHandler({
    router: new Router(routes),
    rules: trustRules({
      hostname: node.hostname,
      hosts: settings.api.hosts,
      origins: settings.api.cors.origins,
    }),
    mirror,
    pages,
    backends,
    streams: streamsOf(hub),
    serverPage: pages.make(JSON.stringify(serverRecord(node, version, settings)), now()),
    openapi: async () => JSON.stringify((await import('./openapi.js')).openapiDocument(routes, version)),
    version,
    now,
    uptimeMs: () => options.monotonic() - started,
    log: options.log,
  });
  const server = createServer(handler);
  return {
    listener: {
      changes: (_backend, changes) => hub.publish(mirror.apply(changes)),
      health: (backend, health) => hub.publish(mirror.health(backend, health)),
    },
    listen: (addresses, port) => server.listen(addresses, port),
    close: async () => {
      handler.shutDown();
      // SIGTERM of a reboot may overtake logind's answer to it: `power.action` comes before `bye`.
      await backends.settled(ANSWERS_MS_MAX);
      // Streams are answers under way too: the server's deadline covers both.
      await Promise.all([hub.bye(), server.close()]);
    },
  };
}

const later: Schedule = (delayMs, callback) => {
  const timer = setTimeout(callback, delayMs);
  return () => clearTimeout(timer);
};

function streamsOf(hub: EventHub): EventStreams {
  return {
    checkQuery: (text, lastEventId) => {
      const parsed = parseEventQuery(text, lastEventId);
      return parsed.ok ? undefined : parsed.detail;
    },
    open: (text, lastEventId, sink) => {
      const parsed = parseEventQuery(text, lastEventId);
      if (!parsed.ok) return { kind: 'bad-query', detail: parsed.detail };
      const stream = hub.open(parsed.query, sink);
      return stream === 'full' ? { kind: 'full' } : { kind: 'open', stream };
    },
    stats: () => hub.stats(),
  };
}

/** Letters and digits only: it stands in event ids and in quoted entity tags. */
function bootName(now: number, random: number): string {
  return Math.floor(now).toString(36) + Math.floor(random * 36 ** 6).toString(36);
}
