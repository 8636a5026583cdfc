// The gateway follows addresses that appear and vanish, on a scripted machine. Real interfaces: test/contract/addresses.test.ts.

import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { test } from 'node:test';
import { systemClock } from '../../src/clock.js';
import type { InterfaceAddresses } from '../../src/gateway/bind.js';
import { ListeningSockets } from '../../src/gateway/listening.js';

function v4(address: string): NetworkInterfaceInfo {
  return { family: 'IPv4', address, netmask: '', mac: '', internal: false, cidr: null };
}

class Machine {
  interfaces: Record<string, NetworkInterfaceInfo[]> = { lo: [v4('127.0.0.1')] };
  readonly taken = new Set<string>();
  readonly open: string[] = [];
  readonly logged: string[] = [];
  /** The open addresses at each notification of a change. */
  readonly told: string[] = [];
  /** The delay of the next look; undefined: there will be none. */
  delay: number | undefined;
  #next: (() => void) | undefined;
  readonly listening: ListeningSockets;

  constructor(bind: readonly string[], change: (machine: Machine) => void = () => undefined) {
    change(this);
    this.listening = new ListeningSockets({
      bind,
      port: 8018,
      interfaces: (): InterfaceAddresses => this.interfaces,
      open: (address, port) => {
        if (this.taken.has(address)) return undefined;
        this.open.push(address);
        return { port, close: () => this.open.splice(this.open.indexOf(address), 1) };
      },
      clock: {
        ...systemClock,
        after: (delayMs, callback) => {
          [this.delay, this.#next] = [delayMs, callback];
          return () => {
            this.delay = undefined;
          };
        },
      },
      log: (level, message, fields) => this.logged.push(`${level} ${message} ${fields?.['addresses'] ?? ''}`),
      changed: () => this.told.push(this.open.join(' ')),
    });
  }

  get state(): string {
    const { listening, waiting } = this.listening.state;
    return `${listening.join(' ')} | ${waiting.join(' ')}`;
  }

  look(): void {
    assert.ok(this.delay !== undefined && this.delay < 10_000, 'nobody looks in time');
    this.delay = undefined;
    this.#next?.();
  }
}

test('loopback is not searched for again once it is served', () => {
  const machine = new Machine(['lo'], (one) => {
    one.interfaces = {};
  });
  assert.equal(machine.state, ' | lo');
  machine.interfaces = { lo: [v4('127.0.0.1')] };
  machine.look();
  assert.equal(machine.state, '127.0.0.1 | ');
  assert.equal(machine.delay, undefined);
});

test('a machine whose addresses cannot be read for a while changes nothing', () => {
  const machine = new Machine(['eth0'], (one) => {
    one.interfaces = { eth0: [v4('10.0.0.2')] };
  });
  const { state } = machine;
  const told = machine.interfaces;
  Object.defineProperty(machine, 'interfaces', {
    configurable: true,
    get: () => {
      throw new Error('too many open files');
    },
  });
  machine.look();
  machine.look();
  assert.deepEqual(machine.open, ['10.0.0.2']);
  Object.defineProperty(machine, 'interfaces', { value: told });
  machine.look();
  assert.equal(machine.state, state);
  assert.deepEqual(machine.logged.slice(1), [
    'warn the network addresses cannot be read: Error: too many open files ',
  ]);
});

test('a stopped listener reads no addresses', () => {
  const machine = new Machine(['eth0']);
  machine.listening.stop();
  assert.deepEqual([machine.delay, machine.open], [undefined, []]);
});
