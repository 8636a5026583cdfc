// The load during faults: requests and how they ended, other programs that use the sound server and units,
// and commands over MQTT. Any part of the load may fail during a fault.

import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { PHONE } from '../../actors/bluetooth/scripted-bluez.js';
import type { SeededRandom } from '../../seeded-random.js';
import { NO_ANSWER, send } from '../../tools/http.js';
import { BROKER, type FaultedNode, TOPIC } from './faulted-node.js';

/**
 * The 10 s for a backend that does not answer (docs/http-api.md, "Limits"), and what a busy machine needs.
 */
const BOUND_MS = 15_000;

type Method = 'GET' | 'POST';

export interface CompletedRequest {
  readonly method: Method;
  readonly what: string;
  /**
   * The status. `cut` means that the connection ended without an answer, `hung` that neither came in time.
   */
  readonly end: number | 'cut' | 'hung';
  readonly text: string;
}

export class Requests {
  readonly #port: number;
  #completed: CompletedRequest[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends a request, and records how it ended. Never rejects. */
  async ask(method: Method, path: string, body?: object): Promise<CompletedRequest> {
    const what = `${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`;
    const json = body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
    const { end, text } = await send(this.#port, { method, path, ...json, deadlineMs: BOUND_MS }).then(
      ({ status, text }) => ({ end: status, text }),
      (error: Error) => ({ end: error.message.endsWith(NO_ANSWER) ? 'hung' : 'cut', text: '' }) as const,
    );
    const completed = { method, what, end, text };
    this.#completed.push(completed);
    return completed;
  }

  /** Returns the requests that have ended since the last call. */
  taken(): readonly CompletedRequest[] {
    const completed = this.#completed;
    this.#completed = [];
    return completed;
  }
}

/** The least duration of a round of requests. It limits the load, and waits for nothing. */
const PACE_MS = 100;

const READS = 'audio audio/outputs audio/clients services players upgrade bluetooth power/ health server';

type Chosen<T> = (random: SeededRandom) => T;

const level = (random: SeededRandom): number => random.below(101) / 100;

const POSTS: readonly Chosen<readonly [path: string, body?: object]>[] = [
  (random) => [`/audio/outputs/${random.pick(['living', 'kitchen'])}/volume`, { volume: level(random) }],
  (random) => ['/audio/outputs/kitchen/mute', { muted: random.chance(0.5) }],
  (random) => ['/audio/server/volume', { delta: level(random) / 5 - 0.1 }],
  (random) => [`/services/user/radio.service/${random.pick(['start', 'stop', 'restart'])}`],
  (random) => [`/players/mpv/${random.pick(['play', 'pause', 'next', 'previous'])}`],
  (random) => ['/players/mpv/volume', { volume: level(random) }],
  (random) => [`/bluetooth/${random.pick(['power_up', 'power_down', 'pairing_mode', 'pairing_mode/stop'])}`],
  (random) => [`/bluetooth/${random.pick(['connect', 'disconnect'])}`, { address: PHONE }],
];

/** An output that comes and goes. */
const GUEST = `there=$(pactl list short modules | awk '/sink_name=guest/ { print $1 }')
if [ "$there" ]; then pactl unload-module $there; else pactl load-module module-null-sink sink_name=guest; fi`;

/** A stream that comes and goes. */
const STREAM = 'timeout 0.5 pacat /dev/zero || [ $? = 124 ]';

/**
 * A pactl that waits for a server ends only by KILL, and keeps its connection until then. PipeWire's server
 * has 64 connections, and refuses further ones.
 */
const AT_MOST = ['timeout', '-s', 'KILL', '5'];

/** Commands of pi's. */
const HANDS: readonly Chosen<string>[] = [
  (random) => `pactl set-sink-volume living ${random.below(101)}%`,
  (random) => `pactl set-sink-mute living ${random.pick(['0', '1'])}`,
  (random) => `pactl set-default-sink ${random.pick(['living', 'kitchen'])}`,
  () => GUEST,
  () => STREAM,
  (random) => `systemctl --user ${random.pick(['restart', 'stop'])} radio.service`,
];

const MESSAGES: readonly Chosen<string>[] = [
  (random) => `audio/outputs/kitchen/set -m '{"volume": ${level(random)}}'`,
  (random) => `services/user/radio.service/set -m ${random.pick(['start', 'restart'])}`,
  (random) => `players/mpv/set -m ${random.pick(['play_pause', 'next'])}`,
  (random) => `bluetooth/set -m ${random.pick(['power_up', 'power_down'])}`,
];

export class Load {
  readonly #on: FaultedNode;
  readonly #requests: Requests;
  readonly #random: SeededRandom;
  /** Kinds that have never worked yet. */
  readonly #untried = new Set<unknown>([...POSTS, ...HANDS, ...MESSAGES]);
  #isOn = false;
  #running: Promise<unknown> = Promise.resolve();
  /** Rounds of requests that have ended. */
  rounds = 0;

  constructor(on: FaultedNode, requests: Requests, random: SeededRandom) {
    this.#on = on;
    this.#requests = requests;
    this.#random = random;
  }

  /** Throws while some kind of load has never worked. */
  hasWorked(): true {
    assert.deepEqual([...this.#untried].map(String), []);
    return true;
  }

  begin(): void {
    this.#isOn = true;
    const hands = [() => this.#ask(), () => this.#byHand(), () => this.#publish()];
    this.#running = Promise.all(hands.map((hand) => this.#repeat(hand)));
  }

  /** Ends the load. Resolves when nothing of it is under way. */
  async end(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }

  async #repeat(hand: () => Promise<void>): Promise<void> {
    while (this.#isOn) await hand();
  }

  async #ask(): Promise<void> {
    const post = this.#random.pick(POSTS);
    const [path, body] = post(this.#random);
    const [{ end }] = await Promise.all([
      this.#requests.ask('POST', path, body),
      ...READS.split(' ').map((read) => this.#requests.ask('GET', `/${read}`)),
      delay(PACE_MS),
    ]);
    if (end === 202) this.#untried.delete(post);
    this.rounds += 1;
  }

  async #byHand(): Promise<void> {
    const hand = this.#random.pick(HANDS);
    const ran = await this.#on.node.user(...AT_MOST, 'sh', '-c', hand(this.#random));
    if (ran.status === 0) this.#untried.delete(hand);
    const lamp = this.#random.pick(['restart', 'stop']);
    await this.#on.node.root('timeout', '5', 'systemctl', lamp, 'lamp.service');
  }

  async #publish(): Promise<void> {
    const message = this.#random.pick(MESSAGES);
    const publish = `timeout 5 ip netns exec neighbour mosquitto_pub -h ${BROKER} -q 1 -t ${TOPIC}/${message(this.#random)}`;
    const ran = await this.#on.node.root('sh', '-c', publish);
    if (ran.status === 0) this.#untried.delete(message);
  }
}
