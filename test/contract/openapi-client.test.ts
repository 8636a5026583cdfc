// A stranger uses the OpenAPI document: a generator makes types of it, and a client of a few lines that knows nothing else type-checks
// and calls every GET of the running daemon.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transform } from 'esbuild';
import openapiTypes, { type OpenAPI3 } from 'openapi-typescript';
import { startPulseAudio } from '../sound/servers.js';
import { temporaryFolder } from '../temporary-folder.js';
import { lacks } from '../tools/requirements.js';
import { startAudio } from './audio-node.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const COMPILE_MS_MAX = 120_000;

const COMPILER_OPTIONS = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  target: 'es2022',
  module: 'nodenext',
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules/@types')],
};

const CLIENT = `
import type { paths } from './api.js';

/** Those that need no name of anything. */
type Get = Exclude<
  { [P in keyof paths]: paths[P] extends { get: object } ? P : never }[keyof paths],
  \`\${string}{\${string}\`
>;
type Responses<P extends Get> = paths[P]['get']['responses'];
type Body<R> = R extends { content: infer C } ? C[keyof C] : undefined;
type Answer<P extends Get> = {
  [S in keyof Responses<P>]: { readonly status: S; readonly body: Body<Responses<P>[S]> };
}[keyof Responses<P>];

async function get<P extends Get>(base: string, path: P): Promise<Answer<P>> {
  const response = await fetch(base + path);
  const type = response.headers.get('Content-Type') ?? '';
  const isJson = type === 'application/json' || type === 'application/problem+json';
  const body: unknown = isJson ? await response.json() : type;
  if (!response.bodyUsed) await response.body?.cancel();
  return { status: response.status, body } as Answer<P>;
}

/** Every path is here, or this does not compile. */
export const calls: { readonly [P in Get]: (base: string) => Promise<Answer<P>> } = {
  '/': (base) => get(base, '/'),
  '/ui': (base) => get(base, '/ui'),
  '/server': (base) => get(base, '/server'),
  '/health': (base) => get(base, '/health'),
  '/openapi.json': (base) => get(base, '/openapi.json'),
  '/audio': (base) => get(base, '/audio'),
  '/audio/server': (base) => get(base, '/audio/server'),
  '/audio/outputs': (base) => get(base, '/audio/outputs'),
  '/audio/cards': (base) => get(base, '/audio/cards'),
  '/audio/clients': (base) => get(base, '/audio/clients'),
  '/audio/cookie': (base) => get(base, '/audio/cookie'),
  '/services': (base) => get(base, '/services'),
  '/power/': (base) => get(base, '/power/'),
  '/upgrade': (base) => get(base, '/upgrade'),
  '/events': (base) => get(base, '/events'),
};

/** A user would read this of the answers; the types must have as much, and no more. */
export async function summary(base: string): Promise<readonly unknown[]> {
  const [audio, health, upgrade, services] = await Promise.all([
    calls['/audio'](base),
    calls['/health'](base),
    calls['/upgrade'](base),
    calls['/services'](base),
  ]);
  if (services.status === 503) services.body.detail satisfies string;
  if (services.status === 200) services.body[0]?.scope satisfies 'user' | 'system' | undefined;
  if (audio.status !== 200 || health.status !== 200 || upgrade.status !== 200) throw new Error('not there');
  const [output] = audio.body.outputs;
  if (output === undefined) throw new Error('no output');
  const state: 'running' | 'idle' | 'suspended' | 'unknown' = output.state;
  const version: string | undefined = output.props['device.description'];
  // @ts-expect-error A sound server is of two kinds.
  const kind: 'alsa' = audio.body.kind;
  const backend: 'connecting' | 'up' | 'restarting' | 'failed' | undefined = health.body.backends['audio']?.state;
  const run: 'idle' | 'running' | 'failed' = upgrade.body.run.state;
  return [output.name, typeof state, typeof version, kind, backend, run];
}
`;

interface Client {
  readonly calls: Readonly<
    Record<string, (base: string) => Promise<{ readonly status: number; readonly body: unknown }>>
  >;
  summary(base: string): Promise<readonly unknown[]>;
}

/** Writes the generated types and the client into a directory, type-checks, and loads the client. */
async function clientOf(document: unknown, directory: string): Promise<Client> {
  writeFileSync(join(directory, 'package.json'), '{"type": "module"}');
  writeFileSync(join(directory, 'api.ts'), await openapiTypes(document as OpenAPI3));
  writeFileSync(join(directory, 'client.ts'), CLIENT);
  const project = { compilerOptions: COMPILER_OPTIONS, include: ['*.ts'] };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(project));
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', directory], {
    stdio: 'inherit',
    timeout: COMPILE_MS_MAX,
  });
  const compiled = join(directory, 'client.js');
  writeFileSync(compiled, (await transform(CLIENT, { loader: 'ts' })).code);
  return (await import(pathToFileURL(compiled).href)) as Client;
}

const CONFIG = `
pulseaudio: {serve_cookie: true}
power: {enabled: true}
upgrade: {enabled: true, resultFile: /nonexistent/upgrade.json}
`;
/** A machine may have no bus, no systemd or no logind. */
const OF_THE_BUS = ['/services', '/power/'];

test('a generated client type-checks and reads every GET', {
  skip: lacks({ programs: ['pulseaudio'] }),
}, async (t) => {
  const startSound = () => startPulseAudio({ sinks: [{ name: 'living' }] });
  const { daemon } = await startAudio(t, { startSound, config: CONFIG });
  const directory = temporaryFolder(t);
  await daemon.backend('upgrade', 'up');
  const client = await clientOf(await daemon.read('/openapi.json'), directory);
  const base = `http://127.0.0.1:${daemon.port}`;
  for (const [path, call] of Object.entries(client.calls)) {
    const { status, body } = await call(base);
    assert.ok(status === 200 || (OF_THE_BUS.includes(path) && status === 503), `GET ${path}: ${status}`);
    assert.ok(body, path);
  }
  const read = await client.summary(base);
  assert.deepEqual(read, ['living', 'string', 'string', 'pulseaudio', 'up', 'idle']);
});
