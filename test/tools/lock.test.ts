// Tests that the lock file also has the optional packages of other platforms. npm leaves these packages out
// if its registry does not list them, but `npm ci` refuses a lock file without them. Also tests that Debian's
// npm 9.2 can read the overrides, and that usocket is not compiled.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer, Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { sessionBus } from 'dbus-next';
import { temporaryFolder } from '../temporary-folder.js';

interface LockedPackage {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

// build/test/tools/lock.test.js -> the project's root
const LOCK = new URL('../../../package-lock.json', import.meta.url);
const { packages }: { packages: Readonly<Record<string, LockedPackage>> } = JSON.parse(
  readFileSync(LOCK, 'utf8'),
);

/**
 * The paths at which Node would search for the dependency `name` of the package at `path`. For the
 * dependency `b` of `node_modules/a` they are `node_modules/b` and `node_modules/a/node_modules/b`.
 */
function candidatePaths(path: string, name: string): readonly string[] {
  const steps = path.split('/node_modules/');
  const parents = steps.map((_, index) => steps.slice(0, index + 1).join('/node_modules/'));
  // The path of the project itself is ''.
  const packageFolders = parents.filter((parent) => parent !== '');
  return [`node_modules/${name}`, ...packageFolders.map((folder) => `${folder}/node_modules/${name}`)];
}

test('the lock file has every package that another package requires', () => {
  const missing = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !candidatePaths(path, name).some((candidate) => Object.hasOwn(packages, candidate)))
      .map((name) => `${name}, which ${path} requires`),
  );
  assert.deepEqual(missing, []);
});

test('every override is a version: npm 9.2 cannot read an override that names a package', () => {
  const { overrides }: { overrides: Readonly<Record<string, unknown>> } = JSON.parse(
    readFileSync(new URL('package.json', LOCK), 'utf8'),
  );
  for (const [name, value] of Object.entries(overrides))
    assert.match(String(value), /^[\^~]?\d+\.\d+\.\d+$/, name);
});

test("usocket is a stub that is not compiled, so dbus-next uses Node's sockets", async (t) => {
  const require = createRequire(import.meta.url);
  assert.throws(() => require('usocket'), /usocket is not part of tonearm/);
  // The stub is the only usocket, and no package brings node-gyp, which compiles addons.
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
