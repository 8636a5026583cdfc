// Real interfaces and addresses appear and vanish under the built daemon (docs/configuration.md, "Addresses"), in a network of its own.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { until } from '../until.js';
import { Daemon, NO_BACKENDS } from './daemon.js';

/** The documented time, and a reserve for a busy machine. */
const SOON_MS = 25_000;

interface Doors {
  readonly listening: readonly string[];
  readonly waiting: readonly string[];
}

class Scene {
  readonly daemon: Daemon;

  private constructor(daemon: Daemon) {
    this.daemon = daemon;
  }

  static async start(t: TestContext, bind: string): Promise<Scene> {
    return new Scene(await Daemon.start({ config: `${NO_BACKENDS}bind: ${bind}\n` }, t));
  }

  /** Waits until `/health` shows these addresses. */
  async doors(listening: readonly string[], waiting: readonly string[]): Promise<void> {
    const isSo = async (): Promise<boolean> => {
      const doors = await this.daemon.read<Doors>('/health');
      assert.deepEqual([doors.listening.toSorted(), doors.waiting], [listening.toSorted(), waiting]);
      return true;
    };
    await until('these addresses are listened on', isSo, SOON_MS);
  }

  /** The daemon must answer at this address. */
  async serves(host: string): Promise<void> {
    const request = 'GET /server HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
    const connection = new RawConnection(this.daemon.port, host).write(request);
    await connection.until((text) => text.startsWith('HTTP/1.1 200 '));
    connection.destroy();
  }
}

const LO = ['127.0.0.1', '::1'];

inOwnNetwork(import.meta.url, () => {
  test('an interface is followed as it appears, changes its addresses and goes, while a stream on lo continues', async (t) => {
    const scene = await Scene.start(t, '[lo, wlan7]');
    await scene.doors(LO, ['wlan7']);
    const stream = await scene.daemon.events();
    ip('link', 'add', 'wlan7', 'type', 'veth', 'peer', 'name', 'air7');
    ip('link', 'set', 'air7', 'up');
    ip('link', 'set', 'wlan7', 'up');
    ip('addr', 'add', 'fd00:7::2/64', 'dev', 'wlan7');
    await scene.doors([...LO, 'fd00:7::2'], []);
    await scene.serves('fd00:7::2');
    ip('addr', 'add', '10.7.0.2/24', 'dev', 'wlan7');
    await scene.doors([...LO, 'fd00:7::2', '10.7.0.2'], []);
    await scene.serves('10.7.0.2');
    ip('addr', 'del', '10.7.0.2/24', 'dev', 'wlan7');
    ip('addr', 'add', '10.7.0.3/24', 'dev', 'wlan7');
    await scene.doors([...LO, 'fd00:7::2', '10.7.0.3'], []);
    await scene.serves('10.7.0.3');
    ip('link', 'del', 'wlan7');
    await scene.doors(LO, ['wlan7']);
    assert.equal(stream.ended, false);
    const { log } = scene.daemon;
    assert.equal(log.split('does not exist yet').length - 1, 2, log);
  });

  test('an address whose port another program has is logged, and served when the port is free', async (t) => {
    const scene = await Scene.start(t, '[127.0.0.1, 10.8.0.2]');
    await scene.doors(['127.0.0.1'], ['10.8.0.2']);
    // With this setting another program can occupy an address before it exists.
    writeFileSync('/proc/sys/net/ipv4/ip_nonlocal_bind', '1');
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(scene.daemon.port, '10.8.0.2', resolve));
    ip('addr', 'add', '10.8.0.2/24', 'dev', 'lo');
    await until('the log names the address', () => scene.daemon.log.includes('cannot listen yet'), SOON_MS);
    await scene.doors(['127.0.0.1'], ['10.8.0.2']);
    await new Promise((resolve) => other.close(resolve));
    await scene.doors(['127.0.0.1', '10.8.0.2'], []);
    await scene.serves('10.8.0.2');
    assert.equal(scene.daemon.log.split('cannot listen yet').length - 1, 1, scene.daemon.log);
  });
});
