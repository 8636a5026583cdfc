// The load during faults: requests and how they ended, other programs that use the sound server and units,
// and commands over MQTT. Any part of the load may fail during a fault.

import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { PHONE } from '../../actors/bluetooth/scripted-bluez.js';
import type { SeededRandom } from '../../seeded-random.js';
import { NO_ANSWER, send } from '../../tools/http.js';
import { BROKER, type FaultedNode, TOPIC } from './faulted-node.js';

/**
 * A backend has 10 s to answer (docs/http-api.md, "Limits"). The rest is for a busy machine.
 */
const ANSWER_WITHIN_MS = 15_000;

type Method = 'GET' | 'POST';

export interface CompletedRequest {
  readonly method: Method;
  /** The path, and the body if there is one. */
  readonly what: string;
  /**
   * The status; `cut` if the connection ended without an answer; `hung` if neither an answer nor an end came
   * in time.
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
    const request = { method, path, ...json, deadlineMs: ANSWER_WITHIN_MS };
    const { end, text } = await send(this.#port, request).then(
      (answer) => ({ end: answer.status, text: answer.text }),
      (error: Error) => ({ end: error.message.endsWith(NO_ANSWER) ? 'hung' : 'cut', text: '' }) as const,
    );
    const completed = { method, what, end, text };
    this.#completed.push(completed);
    return completed;
  }

  /** Returns the requests that have ended since the last call. */
  takeCompleted(): readonly CompletedRequest[] {
    const completed = this.#completed;
    this.#completed = [];
    return completed;
  }
}

/** The least duration of a round of requests. It only limits the load; no check depends on it. */
const PACE_MS = 100;

const READS = 'audio audio/outputs audio/clients services players upgrade bluetooth power/ health server';

/** Chooses a value by random numbers. */
type Choose<T> = (random: SeededRandom) => T;

const randomVolume = (random: SeededRandom): number => random.below(101) / 100;
/** A change of a volume, from -0.1 to 0.1. */
const randomDelta = (random: SeededRandom): number => randomVolume(random) / 5 - 0.1;

const POSTS: readonly Choose<readonly [path: string, body?: object]>[] = [
  (random) => [
    `/audio/outputs/${random.pick(['living', 'kitchen'])}/volume`,
    { volume: randomVolume(random) },
  ],
  (random) => ['/audio/outputs/kitchen/mute', { muted: random.chance(0.5) }],
  (random) => ['/audio/server/volume', { delta: randomDelta(random) }],
  (random) => [`/services/user/radio.service/${random.pick(['start', 'stop', 'restart'])}`],
  (random) => [`/players/mpv/${random.pick(['play', 'pause', 'next', 'previous'])}`],
  (random) => ['/players/mpv/volume', { volume: randomVolume(random) }],
  (random) => [`/bluetooth/${random.pick(['power_up', 'power_down', 'pairing_mode', 'pairing_mode/stop'])}`],
  (random) => [`/bluetooth/${random.pick(['connect', 'disconnect'])}`, { address: PHONE }],
];

/** Adds the output `guest`, or removes it if it is there. */
const TOGGLE_GUEST_OUTPUT = `there=$(pactl list short modules | awk '/sink_name=guest/ { print $1 }')
if [ "$there" ]; then pactl unload-module $there; else pactl load-module module-null-sink sink_name=guest; fi`;

/** Plays a stream for half a second. The status 124 means that `timeout` has ended pacat. */
const PLAY_SHORTLY = 'timeout 0.5 pacat /dev/zero || [ $? = 124 ]';

/**
 * A pactl that waits for a server ends only by KILL, and keeps its connection until then. PipeWire's server
 * accepts 64 connections, and refuses further ones.
 */
const KILL_AFTER_5_S = ['timeout', '-s', 'KILL', '5'];

/** Shell commands that the user pi runs. */
const USER_COMMANDS: readonly Choose<string>[] = [
  (random) => `pactl set-sink-volume living ${random.below(101)}%`,
  (random) => `pactl set-sink-mute living ${random.pick(['0', '1'])}`,
  (random) => `pactl set-default-sink ${random.pick(['living', 'kitchen'])}`,
  () => TOGGLE_GUEST_OUTPUT,
  () => PLAY_SHORTLY,
  (random) => `systemctl --user ${random.pick(['restart', 'stop'])} radio.service`,
];

/** Arguments of mosquitto_pub: a topic below the node's topic, and the payload. */
const MESSAGES: readonly Choose<string>[] = [
  (random) => `audio/outputs/kitchen/set -m '{"volume": ${randomVolume(random)}}'`,
  (random) => `services/user/radio.service/set -m ${random.pick(['start', 'restart'])}`,
  (random) => `players/mpv/set -m ${random.pick(['play_pause', 'next'])}`,
  (random) => `bluetooth/set -m ${random.pick(['power_up', 'power_down'])}`,
];

export class Load {
  readonly #faultedNode: FaultedNode;
  readonly #requests: Requests;
  readonly #random: SeededRandom;
  /** The functions of the requests, commands and messages that have never worked yet. */
  readonly #neverWorked = new Set<unknown>([...POSTS, ...USER_COMMANDS, ...MESSAGES]);
  #isOn = false;
  #running: Promise<unknown> = Promise.resolve();
  /** Rounds of requests that have ended. */
  rounds = 0;

  constructor(faultedNode: FaultedNode, requests: Requests, random: SeededRandom) {
    this.#faultedNode = faultedNode;
    this.#requests = requests;
    this.#random = random;
  }

  /**
   * Throws while a kind of request, command or message has never worked. The error has the source text of
   * the function that makes this kind.
   */
  hasAllWorked(): true {
    assert.deepEqual([...this.#neverWorked].map(String), []);
    return true;
  }

  begin(): void {
    this.#isOn = true;
    const actions = [() => this.#sendRequests(), () => this.#runCommands(), () => this.#publish()];
    this.#running = Promise.all(actions.map((action) => this.#repeat(action)));
  }

  /** Ends the load. Resolves when nothing of it is under way. */
  async end(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }

  async #repeat(action: () => Promise<void>): Promise<void> {
    while (this.#isOn) await action();
  }

  async #sendRequests(): Promise<void> {
    const post = this.#random.pick(POSTS);
    const [path, body] = post(this.#random);
    const [{ end }] = await Promise.all([
      this.#requests.ask('POST', path, body),
      ...READS.split(' ').map((read) => this.#requests.ask('GET', `/${read}`)),
      delay(PACE_MS),
    ]);
    if (end === 202) this.#neverWorked.delete(post);
    this.rounds += 1;
  }

  async #runCommands(): Promise<void> {
    const command = this.#random.pick(USER_COMMANDS);
    const ran = await this.#faultedNode.node.user(...KILL_AFTER_5_S, 'sh', '-c', command(this.#random));
    if (ran.status === 0) this.#neverWorked.delete(command);
    const verb = this.#random.pick(['restart', 'stop']);
    await this.#faultedNode.node.root('timeout', '5', 'systemctl', verb, 'lamp.service');
  }

  async #publish(): Promise<void> {
    const message = this.#random.pick(MESSAGES);
    const publish = `timeout 5 ip netns exec neighbour mosquitto_pub -h ${BROKER} -q 1 -t ${TOPIC}/${message(this.#random)}`;
    const ran = await this.#faultedNode.node.root('sh', '-c', publish);
    if (ran.status === 0) this.#neverWorked.delete(message);
  }
}
