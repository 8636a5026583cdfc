// Interfaces and addresses that come and go under the built daemon (contract, section 1), for real, in a network of its own.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { test } from 'node:test';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { until } from '../until.js';
import { Daemon } from './daemon.js';

const QUIET = 'systemd: {enabled: false}\npulseaudio: {enabled: false}\n';
/** What the contract allows, and what a busy machine may add. */
const SOON_MS = 25_000;

interface Doors {
  readonly listening: readonly string[];
  readonly waiting: readonly string[];
}

class Scene {
  readonly daemon: Daemon;

  constructor(daemon: Daemon) {
    this.daemon = daemon;
  }

  /** Waits until `/health` says so. */
  async doors(listening: readonly string[], waiting: readonly string[]): Promise<void> {
    const wanted = JSON.stringify([[...listening].sort(), waiting]);
    let last = '';
    const isSo = async (): Promise<boolean> => {
      const doors = await this.daemon.read<Doors>('/health');
      last = JSON.stringify([[...doors.listening].sort(), doors.waiting]);
      return last === wanted;
    };
    await until(`${wanted} is listened on`, isSo, SOON_MS).catch((error: unknown) => {
      throw new Error(`${String(error)}, but ${last}`, { cause: error });
    });
  }

  answers(host: string): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.daemon.port, host);
      socket.on('connect', () => socket.write('GET /server HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'));
      socket.on('data', (text) => {
        socket.destroy();
        resolve(String(text).startsWith('HTTP/1.1 200 '));
      });
      socket.on('error', () => resolve(false));
    });
  }
}

async function withDaemon(bind: string, run: (scene: Scene) => Promise<void>): Promise<void> {
  const daemon = await Daemon.start({ config: `${QUIET}bind: ${bind}\n` });
  try {
    await run(new Scene(daemon));
  } finally {
    await daemon.stop();
  }
}

const LO = ['127.0.0.1', '::1'];

inOwnNetwork(import.meta.url, () => {
  test('an interface that comes, gets addresses, changes them and goes, while a stream on lo goes on', () =>
    withDaemon('[lo, wlan7]', async (scene) => {
      await scene.doors(LO, ['wlan7']);
      const stream = await scene.daemon.events();
      ip('link', 'add', 'wlan7', 'type', 'veth', 'peer', 'name', 'air7');
      ip('link', 'set', 'air7', 'up');
      ip('link', 'set', 'wlan7', 'up');
      ip('addr', 'add', 'fd00:7::2/64', 'dev', 'wlan7');
      await scene.doors([...LO, 'fd00:7::2'], []);
      assert.ok(await scene.answers('fd00:7::2'));
      ip('addr', 'add', '10.7.0.2/24', 'dev', 'wlan7');
      await scene.doors([...LO, 'fd00:7::2', '10.7.0.2'], []);
      assert.ok(await scene.answers('10.7.0.2'));
      ip('addr', 'del', '10.7.0.2/24', 'dev', 'wlan7');
      ip('addr', 'add', '10.7.0.3/24', 'dev', 'wlan7');
      await scene.doors([...LO, 'fd00:7::2', '10.7.0.3'], []);
      assert.ok(await scene.answers('10.7.0.3'));
      ip('link', 'del', 'wlan7');
      await scene.doors(LO, ['wlan7']);
      assert.equal(stream.ended, false);
      const { log } = scene.daemon;
      assert.equal(log.split('not there yet').length - 1, 2, log);
    }));

  test('an address that comes while somebody else has its port is named, and served when the port is free', () =>
    withDaemon('[127.0.0.1, 10.8.0.2]', async (scene) => {
      await scene.doors(['127.0.0.1'], ['10.8.0.2']);
      // Another program may have what is not there yet.
      writeFileSync('/proc/sys/net/ipv4/ip_nonlocal_bind', '1');
      const other = createServer();
      await new Promise<void>((resolve) => other.listen(scene.daemon.port, '10.8.0.2', resolve));
      ip('addr', 'add', '10.8.0.2/24', 'dev', 'lo');
      await until('it is told', () => scene.daemon.log.includes('cannot listen now'), SOON_MS);
      await scene.doors(['127.0.0.1'], ['10.8.0.2']);
      await new Promise((resolve) => other.close(resolve));
      await scene.doors(['127.0.0.1', '10.8.0.2'], []);
      assert.ok(await scene.answers('10.8.0.2'));
      assert.equal(scene.daemon.log.split('cannot listen now').length - 1, 1, scene.daemon.log);
    }));
});
