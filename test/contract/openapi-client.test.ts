// A stranger uses the OpenAPI document: a generator makes types of it, and a client of a few lines that knows nothing else type-checks
// and reads the running daemon. That every answer conforms to the document: gateway/openapi-conformance.ts.

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

/** A user would write this; the types must have as much, and no more. */
const CLIENT = `
import type { paths } from './api.js';

type Answer<P extends keyof paths> = paths[P] extends { get: { responses: infer R } }
  ? { [S in keyof R]: { status: S; body: R[S] extends { content: infer C } ? C[keyof C] : undefined } }[keyof R]
  : never;

async function get<P extends keyof paths>(base: string, path: P): Promise<Answer<P>> {
  const response = await fetch(base + path);
  return { status: response.status, body: await response.json() } as Answer<P>;
}

export async function summary(base: string): Promise<readonly unknown[]> {
  const [audio, health, upgrade] = await Promise.all([get(base, '/audio'), get(base, '/health'), get(base, '/upgrade')]);
  const services: Answer<'/services'> = await get(base, '/services');
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

test('a generated client type-checks and reads what a node has', {
  skip: lacks({ programs: ['pulseaudio'] }),
}, async (t) => {
  const startSound = () => startPulseAudio({ sinks: [{ name: 'living' }] });
  const { daemon } = await startAudio(t, { startSound, config: CONFIG });
  const directory = temporaryFolder(t);
  await daemon.backend('upgrade', 'up');
  const client = await clientOf(await daemon.read('/openapi.json'), directory);
  const read = await client.summary(`http://127.0.0.1:${daemon.port}`);
  assert.deepEqual(read, ['living', 'string', 'string', 'pulseaudio', 'up', 'idle']);
});
