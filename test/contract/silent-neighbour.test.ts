// A neighbour who opens connections and says nothing, again and again: others are served (contract, section 1; real sockets from
// several addresses, in a network of its own).

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { inOwnNetwork, ip } from '../tools/own-network.js';
import { until } from '../until.js';
import { Daemon } from './daemon.js';

const SILENT = 800;
const REQUESTS = 30;
const REQUEST = 'GET /server HTTP/1.1\r\nHost: 10.9.0.1\r\nConnection: close\r\n\r\n';

/** Keeps `SILENT` connections open: what is closed is opened again. */
class Neighbour {
  readonly #open = new Set<Socket>();
  #ends = false;
  closings = 0;

  constructor(from: string, port: number) {
    for (let count = 0; count < SILENT; count += 1) this.#connect(from, port);
  }

  end(): void {
    this.#ends = true;
    for (const socket of this.#open) socket.destroy();
  }

  #connect(from: string, port: number): void {
    const socket = connect({ host: '10.9.0.1', port, localAddress: from });
    this.#open.add(socket);
    socket.on('error', () => undefined);
    // Without this nobody would notice that the other end has closed.
    socket.resume();
    socket.on('close', () => {
      this.closings += 1;
      this.#open.delete(socket);
      if (!this.#ends) setImmediate(() => this.#connect(from, port));
    });
  }
}

function request(from: string, to: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    let received = '';
    const socket = connect({ host: to, port, localAddress: from });
    socket.on('connect', () => socket.write(REQUEST));
    socket.on('data', (text) => {
      received += text;
    });
    socket.on('error', (error) => resolve(String(error)));
    socket.on('close', () => resolve(received.slice(0, 12)));
  });
}

inOwnNetwork(import.meta.url, () => {
  test('all requests of others are answered beside 800 silent connections that come back', async () => {
    for (const last of [1, 2, 3, 4]) ip('addr', 'add', `10.9.0.${last}/24`, 'dev', 'lo');
    const daemon = await Daemon.start({
      config: 'systemd: {enabled: false}\npulseaudio: {enabled: false}\nbind: [lo, 10.9.0.1]\n',
    });
    const neighbours = ['10.9.0.2', '10.9.0.3'].map((from) => new Neighbour(from, daemon.port));
    try {
      await until('the house is full', () => neighbours.every(({ closings }) => closings > 100));
      const answers: string[] = [];
      for (let count = 0; count < REQUESTS; count += 1) {
        answers.push(await request('10.9.0.4', '10.9.0.1', daemon.port));
        answers.push(await request('127.0.0.1', '127.0.0.1', daemon.port));
      }
      assert.deepEqual(answers, Array(2 * REQUESTS).fill('HTTP/1.1 200'));
      assert.match(daemon.log, /too many connections/);
    } finally {
      for (const neighbour of neighbours) neighbour.end();
      await daemon.stop();
    }
  });
});
