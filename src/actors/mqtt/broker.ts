// The only file that uses the npm package `mqtt`: one connection to a broker, from dialling to its end. Everything has a deadline, the
// connection always ends with a reason, and it never reconnects by itself.

import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type IPublishPacket, MqttClient, ReasonCodes } from 'mqtt';
import { type Clock, within } from '../../clock.js';
import { PACKET_BYTES_MAX, PacketLimit } from './packet-limit.js';

/** From dialling until the broker accepts the connection. */
const CONNECT_DEADLINE_MS = 10_000;
/** A hanging broker is noticed by missing acknowledgements, or in silence by the ping (after 1.5 keep-alive periods). */
const ACK_DEADLINE_MS = 20_000;
const KEEPALIVE_S = 30;
/** For the DISCONNECT. */
const END_DEADLINE_MS = 200;
/** Our messages without acknowledgement; fewer if the broker asks for that. */
const IN_FLIGHT_MAX = 16;

/** Upper bound of a packet's size without topic and text: lengths, the packet's identifier, and the instance. */
const PACKET_HEAD_BYTES_MAX = 64;

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'mqtt:': 1883, 'mqtts:': 8883 };

export interface BrokerAddress {
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Certificates in PEM; if absent, Node's own. */
  readonly ca?: string | undefined;
}

export interface BrokerMessage {
  readonly topic: string;
  readonly text: string;
  /** True for a stored message; with `rap` in the subscription also for a new one that the broker will store. */
  readonly retained: boolean;
  /** The process that published it, if the message says so. */
  readonly instance: string | undefined;
}

export interface BrokerOptions extends BrokerAddress {
  readonly clientId: string;
  /** Sent along with messages to the will's topic. */
  readonly instance: string;
  /** Retained; published by the broker when the connection is lost. */
  readonly will?: { readonly topic: string; readonly text: string };
  readonly onMessage: (message: BrokerMessage) => void;
  readonly clock: Clock;
}

export interface Subscription {
  readonly qos: 0 | 1;
  /** Retain as published (MQTT 5, section 3.8.3.1). */
  readonly rap?: boolean;
}

/** Unless noted, every failure ends the connection; `ended` gives the reason. */
export interface BrokerConnection {
  /** False if the connection was never established. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<string>;
  /** How many messages may be in flight; known once it is ready. */
  readonly window: number;
  /** False if refused or not answered; the same for `unsubscribe` and `publish`. */
  subscribe(filters: readonly string[], how: Subscription): Promise<boolean>;
  unsubscribe(filters: readonly string[]): Promise<boolean>;
  /** Also false if the message is larger than the broker accepts: then nothing is sent, and the connection stays. */
  publish(topic: string, text: string, retain: boolean): Promise<boolean>;
  /** False if the message is larger than the broker accepts. */
  takes(topic: string, text: string): boolean;
  /** Sends a DISCONNECT, so that the will is not published. */
  end(reason: string): Promise<void>;
  /** Ends at once, without a DISCONNECT. */
  cut(reason: string): void;
}

export function dialBroker(options: BrokerOptions): BrokerConnection {
  return new MqttConnection(options);
}

type Callback = (error?: Error | null) => void;

class MqttConnection implements BrokerConnection {
  readonly ready: Promise<boolean>;
  readonly ended: Promise<string>;
  window = IN_FLIGHT_MAX;
  readonly #client: MqttClient;
  readonly #options: BrokerOptions;
  readonly #clock: Clock;
  /** The largest packet that the broker accepts, in bytes. */
  #largest = Number.POSITIVE_INFINITY;
  /** The first reason for the end. */
  #reason: string | undefined;

  constructor(options: BrokerOptions) {
    this.#options = options;
    this.#clock = options.clock;
    const { username, password, will } = options;
    this.#client = new MqttClient(() => this.#socket(options), {
      protocolVersion: 5,
      clientId: options.clientId,
      // State is retained and old commands are not run, so a stored session would be of no use.
      clean: true,
      keepalive: KEEPALIVE_S,
      connectTimeout: CONNECT_DEADLINE_MS,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      timerVariant: 'native',
      properties: { maximumPacketSize: PACKET_BYTES_MAX, receiveMaximum: IN_FLIGHT_MAX },
      log: () => undefined,
      ...(username !== undefined && { username }),
      ...(password !== undefined && { password }),
      ...(will !== undefined && {
        will: { topic: will.topic, payload: Buffer.from(will.text), qos: 1, retain: true },
      }),
    });
    const { promise: ready, resolve } = deferred<boolean>();
    this.ready = ready;
    this.ended = new Promise((resolveEnded) => {
      this.#client.on('close', () => {
        resolve(false);
        resolveEnded(this.#reason ?? 'the broker closed the connection');
      });
    });
    this.#client.on('error', (error) => this.cut(error.message));
    this.#client.on('disconnect', ({ reasonCode = 0, properties }) => {
      const why =
        properties?.reasonString ??
        Object.entries(ReasonCodes).find(([code]) => code === `${reasonCode}`)?.[1];
      this.cut(`the broker ended the connection: ${why || reasonCode}`);
    });
    this.#client.on('message', (topic, payload, { retain, properties }: IPublishPacket) => {
      const { instance } = properties?.userProperties ?? {};
      const [first] = [instance ?? []].flat();
      options.onMessage({ topic, text: payload.toString(), retained: retain, instance: first });
    });
    this.#client.on('connect', ({ properties: limits }) => {
      this.window = Math.min(IN_FLIGHT_MAX, limits?.receiveMaximum ?? IN_FLIGHT_MAX);
      this.#largest = limits?.maximumPacketSize ?? this.#largest;
      if (limits?.retainAvailable === false) this.cut('the broker keeps no retained messages');
      else if (limits?.maximumQoS === 0) this.cut('the broker acknowledges no messages');
      else resolve(true);
    });
  }

  subscribe(filters: readonly string[], how: Subscription): Promise<boolean> {
    return this.#answered('a subscription', (done) => this.#client.subscribe([...filters], how, done));
  }

  unsubscribe(filters: readonly string[]): Promise<boolean> {
    return this.#answered('the end of a subscription', (done) =>
      this.#client.unsubscribe([...filters], done),
    );
  }

  publish(topic: string, text: string, retain: boolean): Promise<boolean> {
    if (!this.takes(topic, text)) return Promise.resolve(false);
    const { will, instance } = this.#options;
    const properties = topic === will?.topic ? { properties: { userProperties: { instance } } } : {};
    return this.#answered(topic, (done) =>
      this.#client.publish(topic, Buffer.from(text), { qos: 1, retain, ...properties }, done),
    );
  }

  takes(topic: string, text: string): boolean {
    return packetBytesMax(topic, text) <= this.#largest;
  }

  async end(reason: string): Promise<void> {
    this.#reason ??= reason;
    this.#client.end(false);
    const left = await within(this.#clock, END_DEADLINE_MS, this.ended);
    if (left === undefined) this.cut('the broker did not close the connection');
    await this.ended;
  }

  cut(reason: string): void {
    this.#reason ??= reason;
    this.#client.stream.destroy();
  }

  /** Ends the connection unless `act` completes within the deadline. */
  async #answered(what: string, act: (done: Callback) => void): Promise<boolean> {
    const { promise, resolve } = deferred<string>();
    act((error) => resolve(error ? `the broker refuses ${what}: ${error.message}` : ''));
    const trouble = await within(this.#clock, ACK_DEADLINE_MS, Promise.race([promise, this.ended]));
    if (trouble === '') return true;
    this.cut(trouble ?? `the broker has not acknowledged ${what} within ${ACK_DEADLINE_MS / 1000} s`);
    return false;
  }

  #socket({ url, ca }: BrokerOptions): Socket {
    const { protocol, hostname, port } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '');
    const to = { host, port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port) };
    const socket =
      protocol === 'mqtts:'
        ? connectTls({
            ...to,
            ...(ca !== undefined && { ca }),
            ...(isIP(host) === 0 && { servername: host }),
          })
        : connectTcp(to);
    socket.setNoDelay(true);
    const limit = new PacketLimit();
    socket.on('data', (chunk: Buffer) => {
      if (!limit.passes(chunk)) this.cut(`the broker sent a message of more than ${PACKET_BYTES_MAX} bytes`);
    });
    // The package passes on only errors that have a code.
    socket.on('error', ({ message }) => {
      this.#reason ??= message;
    });
    return socket;
  }
}

function packetBytesMax(topic: string, text: string): number {
  return PACKET_HEAD_BYTES_MAX + Buffer.byteLength(topic) + Buffer.byteLength(text);
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
