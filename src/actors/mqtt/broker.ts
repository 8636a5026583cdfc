// The only file that uses the npm package `mqtt`: one connection to a broker, from dialling to its end.
// Everything has a deadline, the connection always ends with a reason, and it never reconnects by itself.

import type { Socket } from 'node:net';
import {
  type IClientPublishOptions,
  type IClientSubscribeOptions,
  type IConnackPacket,
  type IPublishPacket,
  MqttClient,
  ReasonCodes,
} from 'mqtt';
import { type Clock, within } from '../../host/clock.js';
import { errorText } from '../../printable.js';
import { failed } from '../../protocol/actor/result.js';
import { NameLookup } from '../name-lookup.js';
import {
  ACKNOWLEDGED,
  type Acknowledgement,
  codeOf,
  type Done,
  ENDED,
  refusalIn,
} from './acknowledgement.js';
import type { BrokerAddress } from './broker-address.js';
import { dialBroker } from './broker-socket.js';

/** From dialling until the broker accepts the connection. */
const CONNECT_DEADLINE_MS = 10_000;
/**
 * A hanging broker is noticed by missing acknowledgements, or in silence by the ping (after 1.5 keep-alive
 * periods).
 */
const ACK_DEADLINE_MS = 20_000;
const KEEPALIVE_S = 30;
/** For the DISCONNECT. */
const END_DEADLINE_MS = 200;
/** Our messages without acknowledgement; fewer if the broker asks for that. */
const IN_FLIGHT_MAX = 16;

/**
 * More than any state of a node has. The broker learns this bound, and the connection ends when the broker
 * sends more without the end of a packet.
 */
const PACKET_BYTES_MAX = 1 << 20;
/** Node reads at most so much at a time, and one reading may contain the ends of other packets. */
const SOCKET_PART_BYTES = 1 << 16;
/** Upper bound of a packet's size without topic and text: lengths, and the packet's identifier. */
const PACKET_HEAD_BYTES_MAX = 64;

export interface BrokerMessage {
  readonly topic: string;
  readonly text: string;
  /**
   * True for a stored message; with `rap` (MQTT 5, section 3.8.3.1) also for a new one that the broker will
   * store.
   */
  readonly retained: boolean;
  /** Where the sender waits for an answer (MQTT 5, section 4.10). */
  readonly response?: { readonly topic: string; readonly correlation?: Uint8Array };
}

export interface BrokerOptions extends BrokerAddress {
  readonly clientId: string;
  /** Retained; published by the broker when the connection is lost. */
  readonly will?: { readonly topic: string; readonly text: string };
  readonly onMessage: (message: BrokerMessage) => void;
  readonly clock: Clock;
}

/** The public side of a connection, so that a test can stand in for it. */
export type BrokerConnection = Pick<MqttConnection, keyof MqttConnection>;

/** Every failure but a refusal ends the connection, and `ended` gives the reason, a text for people. */
export class MqttConnection {
  /** False if the connection was never established. */
  readonly ready: Promise<boolean>;
  readonly ended: Promise<string>;
  /** How many messages may be in flight; known once it is ready. */
  window = IN_FLIGHT_MAX;
  readonly #client: MqttClient;
  readonly #clock: Clock;
  readonly #lookup = new NameLookup();
  /** Settles each packet that waits for the broker's answer. A problem also ends the connection. */
  readonly #waiting = new Set<(answer: Acknowledgement, problem?: string) => void>();
  /** The largest packet that the broker accepts, in bytes. */
  #largest = Number.POSITIVE_INFINITY;
  /** Bytes received since the end of the last packet, or a few less. */
  #unread = 0;
  /** The first reason for the end. */
  #reason: string | undefined;
  #isClosed = false;

  constructor(options: BrokerOptions) {
    const { clock, clientId, username, password, will, onMessage } = options;
    this.#clock = clock;
    this.#client = new MqttClient(() => this.#socket(options), {
      protocolVersion: 5,
      clientId,
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
    this.ended = new Promise((resolve) => {
      this.#client.on('close', () => {
        this.#isClosed = true;
        const reason = this.#reason ?? 'the broker closed the connection';
        for (const settle of [...this.#waiting]) settle(ENDED, reason);
        void this.#lookup.end().then(() => resolve(reason));
      });
    });
    this.ready = new Promise((resolve) => {
      this.#client.on('connect', ({ properties }) => resolve(this.#accepted(properties)));
      this.#client.on('close', () => resolve(false));
    });
    this.#client.on('error', (error) => this.cut(errorText(error)));
    this.#client.on('disconnect', ({ reasonCode = 0, properties }) => {
      const names: Readonly<Record<number, string>> = ReasonCodes;
      const why = properties?.reasonString ?? names[reasonCode];
      this.cut(`the broker ended the connection: ${why || reasonCode}`);
    });
    this.#client.on('packetreceive', () => {
      this.#unread = 0;
    });
    this.#client.on('message', (topic, payload, { retain, properties }) => {
      const response = responseIn(properties);
      onMessage({ topic, text: payload.toString(), retained: retain, ...(response && { response }) });
    });
  }

  subscribe(
    filters: readonly string[],
    how: Pick<IClientSubscribeOptions, 'qos' | 'rap'>,
  ): Promise<Acknowledgement> {
    return this.#answered('a subscription', filters, (done) =>
      this.#client.subscribe([...filters], how, (error, _granted, packet) =>
        done(error, packet?.granted.map(Number)),
      ),
    );
  }

  unsubscribe(filters: readonly string[]): Promise<Acknowledgement> {
    return this.#answered('the end of a subscription', filters, (done) =>
      this.#client.unsubscribe([...filters], (error) => done(error)),
    );
  }

  /** Publish only what the broker accepts: it would end the connection for a larger packet. */
  publish(topic: string, text: string, retain: boolean, correlation?: Uint8Array): Promise<Acknowledgement> {
    const how: IClientPublishOptions = { qos: 1, retain };
    if (correlation !== undefined) how.properties = { correlationData: Buffer.from(correlation) };
    return this.#answered(topic, [topic], (done) =>
      this.#client.publish(topic, Buffer.from(text), how, (error) => done(error)),
    );
  }

  /** False if the message is larger than the broker accepts. */
  accepts(topic: string, text: string, correlation?: Uint8Array): boolean {
    const content = Buffer.byteLength(topic) + Buffer.byteLength(text) + (correlation?.byteLength ?? 0);
    return PACKET_HEAD_BYTES_MAX + content <= this.#largest;
  }

  /** Sends a DISCONNECT, so that the will is not published. */
  async end(reason: string): Promise<void> {
    this.#reason ??= reason;
    this.#client.end(false);
    const left = await within(this.#clock, END_DEADLINE_MS, this.ended);
    if (left === undefined) this.cut('the broker did not close the connection');
    await this.ended;
  }

  /** Ends at once, without a DISCONNECT. */
  cut(reason: string): void {
    this.#reason ??= reason;
    this.#client.stream.destroy();
  }

  #accepted(limits: IConnackPacket['properties']): boolean {
    this.window = Math.min(IN_FLIGHT_MAX, limits?.receiveMaximum ?? IN_FLIGHT_MAX);
    this.#largest = limits?.maximumPacketSize ?? this.#largest;
    if (limits?.retainAvailable === false) this.cut('the broker keeps no retained messages');
    else if (limits?.maximumQoS === 0) this.cut('the broker acknowledges no messages');
    return this.#reason === undefined;
  }

  /** Ends the connection unless `act` completes within the deadline, by success or a refusal. */
  #answered(what: string, topics: readonly string[], act: (done: Done) => void): Promise<Acknowledgement> {
    if (this.#isClosed) return Promise.resolve(ENDED);
    return new Promise((resolve) => {
      const settle = (answer: Acknowledgement, problem?: string): void => {
        if (!this.#waiting.delete(settle)) return;
        cancel();
        if (problem !== undefined) this.cut(problem);
        resolve(answer);
      };
      this.#waiting.add(settle);
      const cancel = this.#clock.after(ACK_DEADLINE_MS, () =>
        settle(ENDED, `the broker has not acknowledged ${what} within ${ACK_DEADLINE_MS / 1000} s`),
      );
      act((error, codes) => {
        const refusal = error ? refusalIn(topics, codes ?? [codeOf(error)], ReasonCodes) : undefined;
        if (refusal !== undefined) settle(failed(refusal));
        else if (error) settle(ENDED, `the broker refuses ${what}: ${errorText(error)}`);
        else settle(ACKNOWLEDGED);
      });
    });
  }

  #socket({ url, ca }: BrokerOptions): Socket {
    const socket = dialBroker(url, ca, this.#lookup);
    socket.setNoDelay(true);
    socket.on('data', ({ length }: Buffer) => {
      this.#unread += length;
      if (this.#unread > PACKET_BYTES_MAX + SOCKET_PART_BYTES)
        this.cut(`the broker sent a message of more than ${PACKET_BYTES_MAX} bytes`);
    });
    // The package passes on only errors that have a code.
    socket.on('error', (error) => {
      this.#reason ??= errorText(error);
    });
    return socket;
  }
}

function responseIn(properties: IPublishPacket['properties']): BrokerMessage['response'] {
  const { responseTopic: topic, correlationData: correlation } = properties ?? {};
  if (topic === undefined) return undefined;
  return correlation === undefined ? { topic } : { topic, correlation };
}
