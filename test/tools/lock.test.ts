// The lock file is whole: `npm ci` refuses one that leaves out other platforms' optional packages, and npm
// leaves them out when it cannot see them in the registry at hand. Every npm from Debian's 9.2 on can read
// it, and nothing in it is compiled.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { sessionBus } from 'dbus-next';
import { temporaryFolder } from '../temporary-folder.js';

interface Entry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

// build/test/tools/lock.test.js -> the project's root
const LOCK = new URL('../../../package-lock.json', import.meta.url);
const { packages }: { packages: Readonly<Record<string, Entry>> } = JSON.parse(readFileSync(LOCK, 'utf8'));

/** Names of the folders in which Node would look for a dependency of the package at `path`. */
function places(path: string, name: string): readonly string[] {
  const levels = path.split('/node_modules/').map((_, i, all) => all.slice(0, i + 1).join('/node_modules/'));
  return ['', ...levels.map((level) => level && `${level}/`)].map((level) => `${level}node_modules/${name}`);
}

test('the lock file holds every package that another one requires', () => {
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !places(path, name).some((place) => Object.hasOwn(packages, place)))
      .map((name) => `${name}, which ${path} asks for`),
  );
  assert.deepEqual(missing, []);
});

test('no override names another package, which npm 9.2 cannot read', () => {
  const { overrides }: { overrides: Readonly<Record<string, unknown>> } = JSON.parse(
    readFileSync(new URL('package.json', LOCK), 'utf8'),
  );
  for (const [name, value] of Object.entries(overrides))
    assert.match(String(value), /^[\^~]?\d+\.\d+\.\d+$/, name);
});

test("usocket is our own stub, never built, and dbus-next uses Node's sockets", async (t) => {
  const require = createRequire(import.meta.url);
  assert.throws(() => require('usocket'), /usocket is not part of tonearm/);
  const found = Object.keys(packages).filter((path) => /usocket|node-gyp/.test(path));
  assert.deepEqual(found, ['node_modules/usocket', 'packaging/no-usocket']);

  const folder = temporaryFolder(t);
  const server = createServer().listen(join(folder, 'bus'));
  const accepted: Socket[] = [];
  server.on('connection', (socket) => accepted.push(socket));
  t.after(() => {
    for (const socket of accepted) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  const bus = sessionBus({ busAddress: `unix:path=${folder}/bus` });
  const { _connection: connection } = bus as unknown as { _connection: { stream: unknown } };
  assert.ok(connection.stream instanceof Socket);
  await once(connection.stream, 'connect');
  connection.stream.destroy();
  await once(connection.stream, 'close');
});
