// A real gateway on a free loopback port with scripted backends, and an HTTP client that checks every answer
// against the gateway's own OpenAPI document.

import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { Gateway } from '../../src/gateway/gateway.js';
import type { PageFiles } from '../../src/gateway/page.js';
import type { RouteSettings } from '../../src/gateway/routes.js';
import { type Clock, systemClock } from '../../src/host/clock.js';
import { BACKENDS, type Subscriber } from '../../src/protocol/actor/backends.js';
import type { ChangeBatch } from '../../src/protocol/actor/messages.js';
import { type HttpAnswer, type HttpRequest, send } from '../tools/http.js';
import { Conformance } from './openapi-conformance.js';
import { bringUp, ScriptedBackends } from './scripted-backends.js';

/** How long the gateway may take to close. No test needs as much, so no result depends on it. */
const CLOSE_MS = 4000;

export const SETTINGS: RouteSettings = {
  api: {
    port: 0,
    cors: { origins: [] },
    hosts: [],
    sse: { enabled: true, maxClients: 4 },
    ui: { enabled: true, volumeStep: 5 },
    logs: true,
    control: true,
    metrics: true,
  },
  systemd: { enabled: true, system: [], user: [], internal: [] },
  audio: {
    enabled: true,
    actsByItself: true,
    serveCookie: true,
    apiPort: 8018,
    outputs: {},
    groups: {},
    listen: {},
    listenLatency: 100,
  },
  power: { enabled: true, capabilities: { poweroff: true, reboot: true } },
  upgrade: {
    enabled: true,
    checkUnit: 'check.service',
    upgradeUnit: 'upgrade.service',
    resultFile: '/result',
    progressSocket: '/socket',
    stateFile: '/state',
  },
  players: { enabled: true, fetchCovers: false, ignore: [], exclusive: false },
  bluetooth: {
    enabled: true,
    powerOnStart: false,
    reconnect: false,
    pairingTimeout: 60,
    scanTimeout: 60,
    idleTimeout: 0,
  },
  discovery: { enabled: false, name: 'node', nodes: [], trust: true },
  mqtt: {
    enabled: false,
    topic: 'tonearm/node',
    control: true,
    homeAssistant: true,
    homeAssistantPrefix: 'homeassistant',
  },
};

/** Replaces the files that the build makes from src/page. */
const PAGE: PageFiles = new Map([
  ['index.html', { identity: Buffer.from('<!doctype html>') }],
  ['app-1.js', { identity: Buffer.from('1'), gzip: Buffer.from('gzip 1'), br: Buffer.from('br 1') }],
  ['icon-2.svg', { identity: Buffer.from('<svg/>') }],
]);

interface Options {
  readonly settings?: RouteSettings;
  /** The assumed limit of open files and sockets. */
  readonly descriptorsMax?: number;
  /** The addresses of `bind` in the configuration. */
  readonly bind?: readonly string[] | undefined;
  readonly clock?: Clock | undefined;
  readonly page?: PageFiles;
  readonly avahiSocket?: string | undefined;
}

export class GatewayUnderTest {
  readonly backends = new ScriptedBackends();
  /** The batches that subscribers have received. `bridge` is the subscriber. */
  readonly batches: (ChangeBatch & { readonly bridge: Subscriber })[] = [];
  /** Log lines of all levels but `info`. */
  readonly logged: string[] = [];
  readonly gateway: Gateway;
  /** The machine's name; a test may change it while the gateway runs. */
  hostname = 'Kitchen';
  readonly port: number;
  #conformance: Conformance | undefined;

  constructor({
    settings = SETTINGS,
    descriptorsMax = Number.POSITIVE_INFINITY,
    bind = ['127.0.0.1'],
    clock = systemClock,
    page = PAGE,
    // This socket does not exist, so that no test asks the Avahi of this machine.
    avahiSocket = '/nowhere/socket',
  }: Options = {}) {
    // Inside the getter below, `this` is `node`.
    const hostnameNow = (): string => this.hostname;
    const node = {
      get hostname() {
        return hostnameNow();
      },
      platform: 'linux/arm64',
      osVersion: 'Debian',
      descriptorsMax,
    };
    this.gateway = new Gateway({
      settings,
      node,
      readPage: () => page,
      clock,
      avahiSocket,
      interfaces: networkInterfaces,
      version: '1.2.3',
      backends: this.backends,
      log: (level, message) => {
        if (level !== 'info') this.logged.push(`${level} ${message}`);
      },
    });
    const result = this.gateway.listen(bind, 0);
    assert.deepEqual(result.refused, []);
    this.port = result.port;
  }

  /** A gateway with every enabled backend up. */
  static up(
    settings: RouteSettings = SETTINGS,
    options: Pick<Options, 'bind' | 'clock' | 'avahiSocket'> = {},
  ): GatewayUnderTest {
    const gatewayUnderTest = new GatewayUnderTest({ settings, ...options });
    const enabled = BACKENDS.filter((backend) => settings[backend].enabled);
    bringUp(gatewayUnderTest.gateway.listener, enabled);
    return gatewayUnderTest;
  }

  /** Requests changes as the thread of a subscriber does. `isFirst`: the thread has just begun. */
  requestFeed(subscriber: Subscriber, isFirst: boolean): void {
    this.gateway.listener.feedRequest(subscriber, isFirst, (batch) =>
      this.batches.push({ bridge: subscriber, ...batch }),
    );
  }

  /** Closes the gateway at the end of the test. */
  closeAtEndOf(context: { after(end: () => Promise<void>): void }): this {
    context.after(() => this.close());
    return this;
  }

  async close(): Promise<void> {
    await this.gateway.close(CLOSE_MS);
  }

  /** Sends a request, and checks the answer against the OpenAPI document. */
  async fetch(request: HttpRequest): Promise<HttpAnswer> {
    const response = await send(this.port, request);
    this.#conformance ??= Conformance.of((await send(this.port, { path: '/openapi.json' })).text);
    this.#conformance.check(request.method ?? 'GET', request.path, response);
    return response;
  }

  /** The parsed body of `GET path`, whose status must be 200. */
  async json(path: string): Promise<unknown> {
    const response = await this.fetch({ path });
    assert.equal(response.status, 200, response.text);
    return JSON.parse(response.text);
  }
}
