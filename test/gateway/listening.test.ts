// The gateway follows addresses that appear and vanish, on a scripted machine. Real interfaces: test/contract/addresses.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InterfaceAddresses } from '../../src/gateway/bind.js';
import { ListeningSockets } from '../../src/gateway/listening.js';
import { ManualClock } from '../manual-clock.js';
import { v4 } from './interfaces.js';

class Machine {
  /** Undefined: the system does not say. */
  interfaces: InterfaceAddresses | undefined;
  readonly clock = new ManualClock();
  readonly open: string[] = [];
  readonly logged: string[] = [];
  readonly listening: ListeningSockets;

  constructor(bind: readonly string[], interfaces: InterfaceAddresses) {
    this.interfaces = interfaces;
    this.listening = new ListeningSockets({
      ...{ bind, port: 8018, clock: this.clock, changed: () => undefined },
      interfaces: () => {
        if (this.interfaces === undefined) throw new Error('too many open files');
        return this.interfaces;
      },
      open: (address, port) => {
        this.open.push(address);
        return { port, close: () => this.open.splice(this.open.indexOf(address), 1) };
      },
      log: (level, message) => this.logged.push(`${level} ${message}`),
    });
  }
}

test('loopback is not searched for again once it is served', () => {
  const machine = new Machine(['lo'], {});
  assert.deepEqual(machine.listening.state, { listening: [], waiting: ['lo'] });
  machine.interfaces = { lo: [v4('127.0.0.1')] };
  machine.clock.advance(10_000);
  assert.deepEqual(machine.listening.state, { listening: ['127.0.0.1'], waiting: [] });
  assert.equal(machine.clock.timers, 0);
});

test('a machine whose addresses cannot be read for a while changes nothing', () => {
  const eth0 = { eth0: [v4('10.0.0.2')] };
  const machine = new Machine(['eth0'], eth0);
  for (const interfaces of [undefined, undefined, eth0]) {
    machine.interfaces = interfaces;
    machine.clock.advance(10_000);
    assert.deepEqual(machine.open, ['10.0.0.2']);
  }
  assert.deepEqual(machine.logged.slice(1), [
    'warn the network addresses cannot be read: Error: too many open files',
  ]);
});

test('a stopped listener reads no addresses', () => {
  const machine = new Machine(['lo', 'eth0'], { lo: [v4('127.0.0.1')] });
  machine.listening.stop();
  assert.deepEqual([machine.clock.timers, machine.open], [0, []]);
});
