// What goes on while there are faults: requests, other hands at the sound server and at units, commands over MQTT. Nothing that it
// does must succeed; what requests answer is written down.

import { setTimeout as delay } from 'node:timers/promises';
import type { SeededRandom } from '../../seeded-random.js';
import { BROKER, type FaultedNode, TOPIC } from './faulted-node.js';
import type { Requests } from './requests.js';

/** Between two rounds of requests: load, not a wait for anything. */
const PACE_MS = 100;

const READS = [
  '/audio',
  '/audio/outputs',
  '/audio/clients',
  '/services',
  '/players',
  '/upgrade',
  '/power/',
  '/health',
  '/server',
];

type Post = readonly [path: string, body?: object];

const POSTS: readonly [Chosen<Post>, ...Chosen<Post>[]] = [
  (random) => [
    `/audio/outputs/${random.pick(['living', 'kitchen'])}/volume`,
    { volume: random.below(101) / 100 },
  ],
  (random) => ['/audio/outputs/kitchen/mute', { muted: random.chance(0.5) }],
  (random) => ['/audio/server/volume', { delta: (random.below(21) - 10) / 100 }],
  (random) => [`/services/user/radio.service/${random.pick(['start', 'stop', 'restart'])}`],
  (random) => [`/players/mpv/${random.pick(['play', 'pause', 'next', 'previous'])}`],
  (random) => ['/players/mpv/volume', { volume: random.below(101) / 100 }],
];

type Chosen<T> = (random: SeededRandom) => T;

/** An output that comes and goes. */
const GUEST = `there=$(pactl list short modules | awk '/sink_name=guest/ { print $1 }')
if [ "$there" ]; then pactl unload-module $there; else pactl load-module module-null-sink sink_name=guest; fi`;

/** Commands of pi's. */
const HANDS: readonly [Chosen<string>, ...Chosen<string>[]] = [
  (random) => `pactl set-sink-volume living ${random.below(101)}%`,
  (random) => `pactl set-sink-mute living ${random.pick(['0', '1'])}`,
  (random) => `pactl set-default-sink ${random.pick(['living', 'kitchen'])}`,
  () => GUEST,
  () => 'timeout 0.5 pacat /dev/zero',
  (random) => `systemctl --user ${random.pick(['restart', 'stop'])} radio.service`,
];

const MESSAGES: readonly [Chosen<string>, ...Chosen<string>[]] = [
  (random) => `-t ${TOPIC}/audio/outputs/kitchen/set -m '{"volume": ${random.below(101) / 100}}'`,
  (random) => `-t ${TOPIC}/services/user/radio.service/set -m ${random.pick(['start', 'restart'])}`,
  (random) => `-t ${TOPIC}/players/mpv/set -m ${random.pick(['play_pause', 'next'])}`,
];

export class Load {
  readonly #on: FaultedNode;
  readonly #requests: Requests;
  readonly #random: SeededRandom;
  #isOn = false;
  #running: Promise<unknown> = Promise.resolve();
  /** Rounds of requests that have ended. */
  rounds = 0;

  constructor(on: FaultedNode, requests: Requests, random: SeededRandom) {
    this.#on = on;
    this.#requests = requests;
    this.#random = random;
  }

  begin(): void {
    this.#isOn = true;
    const hands = [() => this.#ask(), () => this.#byHand(), () => this.#publish()];
    this.#running = Promise.all(hands.map((hand) => this.#repeat(hand)));
  }

  /** Resolves when nothing of it is under way. */
  async end(): Promise<void> {
    this.#isOn = false;
    await this.#running;
  }

  async #repeat(hand: () => Promise<unknown>): Promise<void> {
    while (this.#isOn) await hand();
  }

  async #ask(): Promise<void> {
    const [path, body] = this.#random.pick(POSTS)(this.#random);
    await Promise.all([
      ...READS.map((read) => this.#requests.ask('GET', read)),
      this.#requests.ask('POST', path, body),
      delay(PACE_MS),
    ]);
    this.rounds += 1;
  }

  async #byHand(): Promise<void> {
    const command = this.#random.pick(HANDS)(this.#random);
    await this.#on.node.user('timeout', '5', 'sh', '-c', command);
    await this.#on.node.root(
      'timeout',
      '5',
      'systemctl',
      this.#random.pick(['restart', 'stop']),
      'lamp.service',
    );
  }

  async #publish(): Promise<void> {
    const message = this.#random.pick(MESSAGES)(this.#random);
    const publishing = `timeout 5 ip netns exec neighbour mosquitto_pub -h ${BROKER} -q 1 ${message}`;
    await this.#on.node.root('sh', '-c', publishing);
  }
}
