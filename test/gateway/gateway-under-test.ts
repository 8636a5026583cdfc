// A real gateway on a free loopback port with scripted backends, and an HTTP client that checks every answer
// against the gateway's own OpenAPI document.

import assert from 'node:assert/strict';
import { type IncomingHttpHeaders, request } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createGateway, type Gateway } from '../../src/gateway/gateway.js';
import type { RouteSettings } from '../../src/gateway/routes.js';
import { BACKENDS } from '../../src/protocol/actor/backends.js';
import { bringUp, ScriptedBackends } from './scripted-backends.js';

/** Longer than any test waits: where it matters, the answers decide. */
const CLOSE_MS = 4000;

export const SETTINGS: RouteSettings = {
  api: { port: 0, cors: { origins: [] }, hosts: [], sse: { enabled: true, maxClients: 4 } },
  systemd: { enabled: true, system: [], user: [], internal: [] },
  audio: { enabled: true, serveCookie: true },
  power: { enabled: true, capabilities: { poweroff: true, reboot: true } },
  upgrade: {
    enabled: true,
    resultFile: '/result',
    checkUnit: 'check.service',
    upgradeUnit: 'upgrade.service',
    progressSocket: '/socket',
    stateFile: '/state',
  },
};

export interface TestRequest {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface TestResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

export interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly required: boolean };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema?: { readonly $ref?: string } }>>;

export class GatewayUnderTest {
  readonly backends = new ScriptedBackends();
  readonly logged: string[] = [];
  readonly gateway: Gateway;
  readonly port: number;
  #document: OpenApi | undefined;
  readonly #ajv = new Ajv2020({ strict: false });

  constructor(settings: RouteSettings = SETTINGS) {
    this.gateway = createGateway({
      settings,
      node: { hostname: 'Kitchen', platform: 'linux/arm64', osVersion: 'Debian' },
      backends: this.backends,
      version: '1.2.3',
      log: (level, message) => this.logged.push(`${level} ${message}`),
      date: Date.now,
      monotonic: () => performance.now(),
      random: Math.random,
    });
    const result = this.gateway.listen(['127.0.0.1'], 0);
    assert.ok(result.ok);
    this.port = result.port;
    this.#ajv.addFormat('date-time', (text: string) => !Number.isNaN(Date.parse(text)));
  }

  /** With every enabled backend up. */
  static up(settings: RouteSettings = SETTINGS): GatewayUnderTest {
    const under = new GatewayUnderTest(settings);
    bringUp(
      under.gateway.listener,
      BACKENDS.filter((backend) => settings[backend].enabled),
    );
    return under;
  }

  async close(): Promise<void> {
    await this.gateway.close(CLOSE_MS);
  }

  /** Sends and receives, and checks the answer against the document. */
  async fetch(wanted: TestRequest): Promise<TestResponse> {
    const response = await send(this.port, wanted);
    this.#document ??= JSON.parse((await send(this.port, { path: '/openapi.json' })).text) as OpenApi;
    this.#conform(this.#document, wanted, response);
    return response;
  }

  async json(path: string): Promise<unknown> {
    const response = await this.fetch({ path });
    assert.equal(response.status, 200, response.text);
    return JSON.parse(response.text);
  }

  #conform(document: OpenApi, { method = 'GET', path }: TestRequest, response: TestResponse): void {
    const operation = operationFor(document, method, path);
    if (operation === undefined) return;
    const described = operation.responses[String(response.status)];
    assert.ok(described, `${method} ${path}: ${response.status} is not in the document: ${response.text}`);
    if (method === 'HEAD' || described.content === undefined) {
      assert.equal(response.text, '', `${method} ${path} has no body`);
      return;
    }
    const type = response.headers['content-type'] ?? '';
    assert.ok(Object.hasOwn(described.content, type), `${method} ${path}: ${type} is not in the document`);
    const reference = described.content[type]?.schema?.$ref;
    if (reference === undefined) return;
    const schema = document.components.schemas[reference.replace('#/components/schemas/', '')];
    assert.ok(schema, reference);
    const isValid = this.#ajv.validate(schema, JSON.parse(response.text));
    assert.ok(isValid, `${method} ${path}: ${this.#ajv.errorsText()}\n${response.text}`);
  }
}

/** The operation that serves a path, found without the gateway's router. */
function operationFor(document: OpenApi, method: string, path: string): Operation | undefined {
  const bare = (path.split('?')[0] ?? '').replace(/\/$/, '');
  for (const [template, item] of Object.entries(document.paths)) {
    const pattern = template
      .replace(/\/$/, '')
      .replace(/[.]/g, '\\.')
      .replace(/\{\w+\}/g, '[^/]+');
    if (new RegExp(`^${pattern}$`).test(bare)) return item[method === 'HEAD' ? 'get' : method.toLowerCase()];
  }
  return undefined;
}

/** One request on a connection of its own. */
function send(
  port: number,
  { method = 'GET', path, headers = {}, body }: TestRequest,
): Promise<TestResponse> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text });
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
