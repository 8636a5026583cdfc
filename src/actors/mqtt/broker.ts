// Opens one connection to a broker, uses it, and ends it. A connection never reconnects by itself. Only this
// file uses the npm package `mqtt`.

import type { Socket } from 'node:net';
import {
  type IClientOptions,
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
  ENDED,
  type OnAnswer,
  reasonCodeOf,
  refusalIn,
} from './acknowledgement.js';
import type { BrokerAddress } from './broker-address.js';
import { dialBroker } from './broker-socket.js';

/** The broker must accept the connection within this time after dialling. */
const CONNECT_DEADLINE_MS = 10_000;
/** A broker that has not acknowledged a packet after this time counts as hung. */
const ACK_DEADLINE_MS = 20_000;
/** The period of the package's pings. After 1.5 periods without an answer the broker counts as hung. */
const KEEPALIVE_S = 30;
/** The broker has this time to close the connection after our DISCONNECT. */
const END_DEADLINE_MS = 200;
/**
 * At most this many messages may wait for acknowledgement in each direction. The broker may set a smaller
 * number for the messages that it receives.
 */
const IN_FLIGHT_MAX = 16;

/**
 * The largest packet that the broker may send. No retained text of a node is so large. The CONNECT packet
 * informs the broker of this bound. If the broker sends a larger packet all the same, the connection ends.
 */
const PACKET_MAX_BYTES = 1 << 20;
/**
 * Node.js reads at most this many bytes at a time. `#unfinishedBytes` counts whole reads, and the last read
 * of a packet may also contain the beginning of the next packet. So the count for one packet may be larger
 * than the packet, by at most this number.
 */
const READ_MAX_BYTES = 1 << 16;
/** A PUBLISH packet has at most this many bytes besides topic, text and correlation data. */
const PACKET_HEAD_MAX_BYTES = 64;

export interface BrokerMessage {
  readonly topic: string;
  readonly text: string;
  /**
   * True for a message that the broker had stored before the subscription. If the subscription has the
   * option `rap` (MQTT 5, section 3.8.3.1), `retained` is also true for a new message whose sender wants
   * the broker to store it.
   */
  readonly retained: boolean;
  /**
   * The sender waits for an answer at this `topic`. The answer must have the mark `correlation`, if there is
   * one (MQTT 5, section 4.10).
   */
  readonly response?: { readonly topic: string; readonly correlation?: Uint8Array };
}

export interface BrokerOptions extends BrokerAddress {
  readonly clientId: string;
  /** The broker publishes and retains this message when the connection is lost. */
  readonly will?: { readonly topic: string; readonly text: string };
  readonly onMessage: (message: BrokerMessage) => void;
  /** Called when the broker has answered a ping. The broker gets pings while nothing else is sent. */
  readonly onPong: () => void;
  readonly clock: Clock;
}

/** The public members of `MqttConnection`. A test can use another object that has them. */
export type BrokerConnection = Pick<MqttConnection, keyof MqttConnection>;

/** If the broker refuses topics, the connection stays open. Any other failure ends the connection. */
export class MqttConnection {
  /**
   * Resolves to true when the broker has accepted the connection and can be used. Resolves to false if the
   * broker cannot be used, or if the connection ends before the broker has accepted it.
   */
  readonly ready: Promise<boolean>;
  /** Resolves when the connection has ended. The value is the reason, a text for people. */
  readonly ended: Promise<string>;
  /**
   * At most this many of our messages may wait for acknowledgement. The broker may lower the number, so read
   * it after `ready`.
   */
  inFlightMax = IN_FLIGHT_MAX;
  readonly #client: MqttClient;
  readonly #clock: Clock;
  readonly #lookup = new NameLookup();
  /** Each function settles one packet that waits for an answer. A `problem` also ends the connection. */
  readonly #pending = new Set<(answer: Acknowledgement, problem?: string) => void>();
  /** The largest packet that the broker accepts. */
  #packetBytesMax = Number.POSITIVE_INFINITY;
  /**
   * The bytes of all reads since the last packet ended. The read in which that packet ended does not count,
   * even if it also has the beginning of the next packet.
   */
  #unfinishedBytes = 0;
  /** The first reason for the end. */
  #reason: string | undefined;
  #isClosed = false;

  constructor(options: BrokerOptions) {
    const { clock, clientId, username, password, will, onMessage, onPong } = options;
    this.#clock = clock;
    const clientOptions: IClientOptions = {
      protocolVersion: 5,
      clientId,
      // The broker need not store a session. A session would keep the commands that come while this node is
      // away, but such old commands must not run. The state is in retained messages, which need no session.
      clean: true,
      keepalive: KEEPALIVE_S,
      connectTimeout: CONNECT_DEADLINE_MS,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      // The other variants may need the package `worker-timers`, which our bundle leaves out.
      timerVariant: 'native',
      properties: { maximumPacketSize: PACKET_MAX_BYTES, receiveMaximum: IN_FLIGHT_MAX },
      log: () => undefined,
    };
    if (username !== undefined) clientOptions.username = username;
    if (password !== undefined) clientOptions.password = password;
    if (will !== undefined)
      clientOptions.will = { topic: will.topic, payload: Buffer.from(will.text), qos: 1, retain: true };
    this.#client = new MqttClient(() => this.#openSocket(options), clientOptions);
    this.ended = new Promise((resolve) => {
      this.#client.on('close', () => {
        this.#isClosed = true;
        const reason = this.#reason ?? 'the broker closed the connection';
        for (const settle of [...this.#pending]) settle(ENDED, reason);
        void this.#lookup.end().then(() => resolve(reason));
      });
    });
    this.ready = new Promise((resolve) => {
      this.#client.on('connect', ({ properties }) => resolve(this.#applyLimits(properties)));
      this.#client.on('close', () => resolve(false));
    });
    this.#client.on('error', (error) => this.cut(errorText(error)));
    this.#client.on('disconnect', ({ reasonCode = 0, properties }) => {
      const reasonNames: Readonly<Record<number, string>> = ReasonCodes;
      const reason = properties?.reasonString ?? reasonNames[reasonCode];
      // The package's name of the code 0 is an empty text. In this case the number is the reason.
      this.cut(`the broker ended the connection: ${reason || reasonCode}`);
    });
    this.#client.on('packetreceive', ({ cmd }) => {
      this.#unfinishedBytes = 0;
      if (cmd === 'pingresp') onPong();
    });
    this.#client.on('message', (topic, payload, { retain, properties }) => {
      const response = responseIn(properties);
      onMessage({ topic, text: payload.toString(), retained: retain, ...(response && { response }) });
    });
  }

  subscribe(
    filters: readonly string[],
    options: Pick<IClientSubscribeOptions, 'qos' | 'rap'>,
  ): Promise<Acknowledgement> {
    return this.#sendAndWait('a subscription', filters, (onAnswer) =>
      this.#client.subscribe([...filters], options, (error, _granted, packet) =>
        onAnswer(error, packet?.granted.map(Number)),
      ),
    );
  }

  unsubscribe(filters: readonly string[]): Promise<Acknowledgement> {
    return this.#sendAndWait('the end of a subscription', filters, (onAnswer) =>
      this.#client.unsubscribe([...filters], (error) => onAnswer(error)),
    );
  }

  /** Call `accepts` first, because the broker would end the connection for a packet that is too large. */
  publish(topic: string, text: string, retain: boolean, correlation?: Uint8Array): Promise<Acknowledgement> {
    const options: IClientPublishOptions = { qos: 1, retain };
    if (correlation !== undefined) options.properties = { correlationData: Buffer.from(correlation) };
    return this.#sendAndWait(topic, [topic], (onAnswer) =>
      this.#client.publish(topic, Buffer.from(text), options, (error) => onAnswer(error)),
    );
  }

  /** True if the broker accepts a message of this size. */
  accepts(topic: string, text: string, correlation?: Uint8Array): boolean {
    const contentBytes = Buffer.byteLength(topic) + Buffer.byteLength(text) + (correlation?.byteLength ?? 0);
    return PACKET_HEAD_MAX_BYTES + contentBytes <= this.#packetBytesMax;
  }

  /**
   * Sends a DISCONNECT, after which the broker does not publish the will. Resolves when the connection has
   * ended.
   */
  async end(reason: string): Promise<void> {
    this.#reason ??= reason;
    this.#client.end(false);
    const hasEnded = (await within(this.#clock, END_DEADLINE_MS, this.ended)) !== undefined;
    if (!hasEnded) this.cut(reason);
    await this.ended;
  }

  /** Ends the connection at once and without a DISCONNECT, so that the broker publishes the will. */
  cut(reason: string): void {
    this.#reason ??= reason;
    this.#client.stream.destroy();
  }

  /** True if this broker can be used; else the connection ends. */
  #applyLimits(limits: IConnackPacket['properties']): boolean {
    this.inFlightMax = Math.min(IN_FLIGHT_MAX, limits?.receiveMaximum ?? IN_FLIGHT_MAX);
    this.#packetBytesMax = limits?.maximumPacketSize ?? this.#packetBytesMax;
    if (limits?.retainAvailable === false) this.cut('the broker keeps no retained messages');
    else if (limits?.maximumQoS === 0) this.cut('the broker acknowledges no messages');
    const isEnding = this.#reason !== undefined;
    return !isEnding;
  }

  /**
   * If the broker refuses topics, the connection stays open. The connection ends after any other error, or if
   * there is no answer in time. `packetName` is the packet's name in the reason for that end.
   */
  #sendAndWait(
    packetName: string,
    topics: readonly string[],
    send: (onAnswer: OnAnswer) => void,
  ): Promise<Acknowledgement> {
    if (this.#isClosed) return Promise.resolve(ENDED);
    return new Promise((resolve) => {
      // Nothing calls `settle` before `cancelDeadline` has its value.
      const settle = (answer: Acknowledgement, problem?: string): void => {
        if (!this.#pending.delete(settle)) return;
        cancelDeadline();
        if (problem !== undefined) this.cut(problem);
        resolve(answer);
      };
      this.#pending.add(settle);
      const cancelDeadline = this.#clock.after(ACK_DEADLINE_MS, () =>
        settle(ENDED, `the broker has not acknowledged ${packetName} within ${ACK_DEADLINE_MS / 1000} s`),
      );
      send((error, codes) => {
        // A subscription has a code for each of its topics. A publication has one topic and no `codes`, and
        // its error has the code. The package never reports that the broker refuses an unsubscription.
        const refusal = error ? refusalIn(topics, codes ?? [reasonCodeOf(error)], ReasonCodes) : undefined;
        if (refusal !== undefined) settle(failed(refusal));
        else if (error) settle(ENDED, `the broker refuses ${packetName}: ${errorText(error)}`);
        else settle(ACKNOWLEDGED);
      });
    });
  }

  #openSocket({ url, ca }: BrokerOptions): Socket {
    const socket = dialBroker(url, ca, this.#lookup);
    socket.setNoDelay(true);
    socket.on('data', ({ length }: Buffer) => {
      this.#unfinishedBytes += length;
      if (this.#unfinishedBytes > PACKET_MAX_BYTES + READ_MAX_BYTES)
        this.cut(`the broker sent a message of more than ${PACKET_MAX_BYTES} bytes`);
    });
    // The package passes on only those errors of the socket that have a `code`, such as `ECONNREFUSED`. This
    // listener gets all errors, and sets the reason for the end.
    socket.on('error', (error) => {
      this.#reason ??= errorText(error);
    });
    return socket;
  }
}

function responseIn(properties: IPublishPacket['properties']): BrokerMessage['response'] {
  const { responseTopic: topic, correlationData: correlation } = properties ?? {};
  if (topic === undefined) return undefined;
  if (correlation === undefined) return { topic };
  // The package's buffer is a part of a larger buffer. A reference to the part would keep the larger buffer
  // in memory.
  return { topic, correlation: new Uint8Array(correlation) };
}
