// Finds the operations for a command's topic and payload (docs/home-assistant.md, "Commands"), by the MQTT
// names in the table of operations, and decides which one runs when. Pure. It validates nothing: bad values
// are passed on, and the operation refuses them.

import type { BridgeRequest } from '../../protocol/actor/messages.js';
import {
  type ChangeOperation,
  type MqttName,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
} from '../../protocol/actor/operations.js';
import { parametersOf } from '../../protocol/actor/parameters.js';
import { percentText } from '../text.js';
import type { NamedThing } from './branch.js';
import type { BrokerMessage } from './broker.js';
import { PLAIN_BODIES, wordIn } from './plain-payloads.js';
import { boundedJson } from './topics.js';

export interface QueuedRequest {
  readonly request: BridgeRequest;
  /** The requests of one queue run in order of arrival. */
  readonly queue: string;
  /**
   * A waiting request is dropped when a newer one with the same name comes, because both set the same thing.
   * Absent: every request counts.
   */
  readonly supersedes?: string;
}

/** An operation under one of its MQTT names. */
interface NamedOperation extends MqttName {
  readonly operation: OperationName;
  readonly change: ChangeOperation;
}

/** All operations that one kind of topic can ask for, in the order in which they are run. */
interface CommandTopic {
  /** A parameter in braces stands for any level. */
  readonly topic: string;
  /** Matches the topic below the node's branch, and names the parameters' levels. */
  readonly pattern: RegExp;
  readonly words: readonly NamedOperation[];
  readonly members: readonly NamedOperation[];
  /** The operation of a topic that takes a plain value. */
  readonly level: NamedOperation | undefined;
}

/** A matching topic, with the names in its levels as parameters. */
interface MatchedTopic extends Omit<CommandTopic, 'pattern'> {
  readonly params: NonNullable<BridgeRequest['params']>;
}

/**
 * The order in which an object's members are run, others last: a loud output is turned down before it is
 * unmuted.
 */
const FIRST: readonly string[] = ['volume', 'delta', 'muted', 'balance', 'port', 'position'];

const PARAMETER = /\{(\w+)\}/g;
const COMMAND_TOPICS = commandTopics();

function commandTopics(): readonly CommandTopic[] {
  const ways = OPERATION_NAMES.flatMap((operation): NamedOperation[] => {
    const change = OPERATIONS[operation];
    return change.kind === 'command' ? change.mqtt.map((name) => ({ ...name, operation, change })) : [];
  });
  const topicOf = ({ by, name, topic, change }: NamedOperation): string =>
    by === 'level' ? `${change.topic}/${name}` : (topic ?? change.topic);
  const turn = ({ name }: NamedOperation): number =>
    FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length;
  return [...new Set(ways.map(topicOf))].map((topic) => {
    const own = ways.filter((way) => topicOf(way) === topic).sort((a, b) => turn(a) - turn(b));
    const members = own.filter(({ by }) => by === 'member');
    const pattern = new RegExp(`^${topic.replaceAll(PARAMETER, '(?<$1>[^/]*)')}/set$`);
    const level = own.find(({ by }) => by === 'level');
    return { topic, pattern, words: own.filter(({ by }) => by === 'word'), members, level };
  });
}

/**
 * Filters below the node's branch. They match no topic that is published there, whatever the names of outputs
 * and players.
 */
export const COMMAND_FILTERS: readonly string[] = COMMAND_TOPICS.map(
  ({ topic }) => `${topic.replaceAll(PARAMETER, '+')}/set`,
);

export function isCommand(topic: string): boolean {
  return matchTopic(topic) !== undefined;
}

function matchTopic(topic: string): MatchedTopic | undefined {
  for (const { pattern, words, members, level } of COMMAND_TOPICS) {
    const found = pattern.exec(topic);
    if (found === null) continue;
    const names = Object.entries(found.groups ?? {}).map(([name, level]) => [name, percentText(level)]);
    return { topic, words, members, level, params: Object.fromEntries(names) };
  }
  return undefined;
}

/** The words that a topic takes, for the refusal of another one. */
export function wordsAt(topic: string): readonly string[] {
  const { words = [], level } = matchTopic(topic) ?? {};
  return [...words.map(({ name }) => name), ...(PLAIN_BODIES[level?.name ?? '']?.words ?? [])];
}

/** The requests of a payload at `topic`, which is below the node's branch. */
export function requestsOf(topic: string, payload: string): readonly QueuedRequest[] {
  const found = matchTopic(topic);
  if (found === undefined) return [];
  const { words, members, level, params } = found;
  if (level !== undefined) return [levelRequest(found, level, payload)];
  const json = boundedJson(payload);
  // A payload that begins like an object was meant as one, even if it is broken or too large to be parsed.
  const isObject = members.length > 0 && (typeof json === 'object' || payload.trimStart().startsWith('{'));
  if (words.length === 0 || isObject) return memberRequests(found, json, payload);
  const word = wordIn(payload);
  const way = words.find(({ name }) => name === word);
  return [queuedRequest(found, way, { operation: way?.operation, params })];
}

/** A plain value, as if it were a member of an object at the topic above. */
function levelRequest(found: MatchedTopic, level: NamedOperation, payload: string): QueuedRequest {
  const { topic, params } = found;
  const above = { ...found, topic: topic.replace(/\/[^/]+\/set$/, '/set') };
  const body = PLAIN_BODIES[level.name]?.bodyOf(wordIn(payload));
  if (body === undefined) return queuedRequest(above, undefined, { operation: undefined, params });
  const request = { operation: level.operation, params, body };
  const isToggle = Object.keys(body).length === 0;
  return queuedRequest(above, isToggle ? undefined : level, request);
}

function memberRequests(found: MatchedTopic, json: unknown, payload: string): readonly QueuedRequest[] {
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  const values = new Map<string, unknown>(isObject ? Object.entries(json) : []);
  const named = found.members.filter(({ name }) => values.has(name));
  const asking = named.filter((way) => !addsNothing(way, named, values));
  const operations = new Set(asking.map(({ operation }) => operation));
  if (named.length > 0 && named.length === values.size && asking.length === operations.size)
    return asking.map((way) => queuedRequest(found, way, memberRequest(found, way, values.get(way.name))));
  // Runs no member: one operation gets the whole payload, and refuses it.
  const [way = found.members[0]] = named;
  const whole = json === undefined ? { unread: payload } : { body: json };
  return [queuedRequest(found, undefined, { operation: way?.operation, params: found.params, ...whole })];
}

/** True for a bare `true` beside another member of the same operation. */
function addsNothing(
  { isBare, name, operation }: NamedOperation,
  named: readonly NamedOperation[],
  values: ReadonlyMap<string, unknown>,
): boolean {
  const isTrue = isBare === true && values.get(name) === true;
  return isTrue && named.some((other) => other.operation === operation && other.name !== name);
}

function memberRequest({ params }: MatchedTopic, way: NamedOperation, value: unknown): BridgeRequest {
  const { operation, change, name, bodyMember = name } = way;
  if (parametersOf(change.path).includes(name) && !Object.hasOwn(params, name)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return { operation, params: { ...params, [name]: text } };
  }
  // The operation refuses any other value than `true`.
  const isAlone = way.isBare === true && value === true;
  return { operation, params, ...(!isAlone && { body: { [bodyMember]: value } }) };
}

/** The request as it is carried out: where a name alone could mean another thing, its id. */
export function withReferences(
  request: BridgeRequest,
  referenceTo: (thing: NamedThing, name: string) => string,
): BridgeRequest {
  const { params = {}, body } = request;
  const named = Object.entries(params).map(([parameter, name]) =>
    isNamedThing(parameter) && name !== undefined
      ? [parameter, referenceTo(parameter, name)]
      : [parameter, name],
  );
  const resolved = { ...request, params: Object.fromEntries(named) };
  if (typeof body !== 'object' || body === null || !('output' in body)) return resolved;
  const { output } = body;
  return typeof output === 'string'
    ? { ...resolved, body: { ...body, output: referenceTo('output', output) } }
    : resolved;
}

function isNamedThing(parameter: string): parameter is NamedThing {
  return parameter === 'output' || parameter === 'input' || parameter === 'card';
}

/** Without `way` the request supersedes nothing: it will be refused, or it toggles. */
function queuedRequest(
  { topic }: MatchedTopic,
  way: NamedOperation | undefined,
  request: BridgeRequest,
): QueuedRequest {
  // The sound server runs one command at a time, and the order across outputs matters: first a new default,
  // then its volume.
  const queue = topic.startsWith('audio/') ? 'audio' : topic;
  if (way?.supersedes === undefined) return { request, queue };
  // There is one default output, whichever topic sets it.
  const isDefault = way.supersedes === 'default';
  return { request, queue, supersedes: isDefault ? 'default' : `${topic} ${way.supersedes}` };
}

/** In all queues together: more than people and homes send at a time. */
const WAITING_MAX = 256;
/** A flood may make up any number of queues, and other clients must get their turn. */
const UNDER_WAY_MAX = 16;

/** Where a command came from, and where its refusal goes. */
export type CommandSource = Pick<BrokerMessage, 'topic' | 'response'>;

export interface WaitingRequest extends QueuedRequest {
  readonly source: CommandSource;
}

/**
 * One request of each queue runs at a time, in order. A waiting request is dropped when a newer one
 * supersedes it, so that a flood ends with the last value of each setting.
 */
export class CommandQueues {
  readonly #carryOut: (request: WaitingRequest) => Promise<void>;
  readonly #waiting: WaitingRequest[] = [];
  /** The queues that have a request under way. */
  readonly #busy = new Set<string>();

  /** `carryOut` runs a request. Its promise resolves when the request is done, and never rejects. */
  constructor(carryOut: (request: WaitingRequest) => Promise<void>) {
    this.#carryOut = carryOut;
  }

  /** False if too many requests wait already: then this one is dropped. */
  add(request: WaitingRequest): boolean {
    const { supersedes } = request;
    const isOlder = (each: WaitingRequest): boolean => each.supersedes === supersedes;
    const older = supersedes === undefined ? -1 : this.#waiting.findIndex(isOlder);
    if (older >= 0) this.#waiting.splice(older, 1);
    this.#waiting.push(request);
    this.#runWaiting();
    if (this.#waiting.length <= WAITING_MAX) return true;
    this.#waiting.pop();
    return false;
  }

  #runWaiting(): void {
    const isFree = ({ queue }: WaitingRequest): boolean => !this.#busy.has(queue);
    const at = this.#busy.size < UNDER_WAY_MAX ? this.#waiting.findIndex(isFree) : -1;
    const [request] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (request === undefined) return;
    this.#busy.add(request.queue);
    void this.#carryOut(request).then(() => {
      this.#busy.delete(request.queue);
      this.#runWaiting();
    });
    this.#runWaiting();
  }
}
