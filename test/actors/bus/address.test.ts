// Tests bus addresses in every spelling that an environment may have.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemBusPaths, userBusPaths } from '../../../src/actors/bus/address.js';
import type { Variables } from '../../../src/host/user-directories.js';

/** `expected` is a list of paths, or the pattern of a refusal. */
type Row = readonly [env: Variables, expected: readonly string[] | RegExp];

/** Makes a test of each row, for the user with the id 1000. */
function testRows(find: typeof userBusPaths, rows: readonly Row[]): void {
  for (const [env, expected] of rows) {
    const verb = expected instanceof RegExp ? 'refuses' : 'accepts';
    test(`${find.name} ${verb} the environment ${JSON.stringify(env)}`, () => {
      const found = find(env, 1000);
      const outcome = found.ok ? 'the address is accepted' : found.error;
      if (expected instanceof RegExp) assert.match(outcome, expected);
      else assert.deepEqual(found, { ok: true, value: expected });
    });
  }
}

testRows(userBusPaths, [
  [{}, ['/run/user/1000/bus']],
  [{ XDG_RUNTIME_DIR: '/r' }, ['/r/bus']],
  // This variable is a path and no address, so nothing in it is decoded.
  [{ XDG_RUNTIME_DIR: '/a%20b' }, ['/a%20b/bus']],
  [{ XDG_RUNTIME_DIR: '/a%' }, ['/a%/bus']],
  [{ XDG_RUNTIME_DIR: '/a;b' }, /^\/a;b\/bus: a path with , : ; or = is not supported$/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:runtime=yes', XDG_RUNTIME_DIR: '/a%20b' }, ['/a%20b/bus']],
  [{ XDG_RUNTIME_DIR: '', DBUS_SESSION_BUS_ADDRESS: '' }, ['/run/user/1000/bus']],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/a/b' }, ['/a/b']],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/a/b,guid=00ff' }, ['/a/b']],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:guid=00ff,path=/a/b' }, ['/a/b']],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/a%20b%c3%a9' }, ['/a bé']],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:runtime=yes', XDG_RUNTIME_DIR: '/r' }, ['/r/bus']],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/a;unix:path=/b' }, ['/a', '/b']],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:abstract=/a;unix:path=/b;' }, ['/b']],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:abstract=/tmp/x' }, /abstract sockets are not supported/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'tcp:host=localhost,port=1' }, /only unix sockets/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unixexec:path=/bin/sh' }, /only unix sockets/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:' }, /no path/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'nonsense' }, /only unix sockets/],
  [{ DBUS_SESSION_BUS_ADDRESS: ';;' }, /empty/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/a%2' }, /percent escape/],
  // `%2c` is a comma.
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/a%2cb' }, /not supported/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/dbus/system_bus_socket' }, /that of the system bus/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/var/run/dbus/system_bus_socket' }, /that of the system bus/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/var//run/dbus/system_bus_socket' }, /that of the system bus/],
  [{ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/s', DBUS_SYSTEM_BUS_ADDRESS: 'unix:path=/s' }, /the system bus/],
]);
testRows(systemBusPaths, [
  [{}, ['/var/run/dbus/system_bus_socket']],
  [{ DBUS_SYSTEM_BUS_ADDRESS: 'unix:path=/s' }, ['/s']],
  [{ DBUS_SYSTEM_BUS_ADDRESS: 'unix:abstract=/s' }, /abstract/],
]);
