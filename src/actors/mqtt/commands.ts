// Decides by topic and payload which operations a command asks for (docs/home-assistant.md, "Commands").
// This file checks no values except words: an operation gets a bad value as it is, and refuses it. Pure.

import type { ChildRequest } from '../../protocol/actor/messages.js';
import {
  type ChangeOperation,
  type MqttName,
  OPERATION_NAMES,
  OPERATIONS,
  type OperationName,
} from '../../protocol/actor/operations.js';
import { parametersOf } from '../../protocol/actor/parameters.js';
import { percentDecodedText } from '../text.js';
import type { ReferredKind } from './branch.js';
import type { QueuedRequest } from './command-queues.js';
import { PLAIN_BODIES, wordIn } from './plain-payloads.js';
import { boundedJson, isTooLongForBody } from './topics.js';

/** An operation and one of its MQTT names. */
interface NamedOperation extends MqttName {
  readonly operation: OperationName;
  readonly change: ChangeOperation;
}

/** The operations that a payload can ask for at one kind of topic. */
interface CommandOperations {
  /** Operations that a word asks for. */
  readonly words: readonly NamedOperation[];
  /** Operations that a member of an object asks for, in the order in which they are run. */
  readonly members: readonly NamedOperation[];
  /** The operation that a plain value asks for. A topic with such an operation takes no other payload. */
  readonly valueOperation: NamedOperation | undefined;
}

interface CommandTopic extends CommandOperations {
  /** Relative to the node's topic, without `/set`. A parameter in braces stands for any level. */
  readonly template: string;
  /**
   * Matches topics relative to the node's topic, such as `audio/outputs/kitchen/set`. Each group is a
   * parameter.
   */
  readonly pattern: RegExp;
}

/** The topic of a message, relative to the node's topic, with the values of its parameters. */
interface MatchedTopic extends CommandOperations {
  readonly topic: string;
  readonly params: NonNullable<ChildRequest['params']>;
}

/**
 * The operations of an object's members run in this order: first those of the parameters (`isParameter`),
 * then those of the members in this list, and then all others. The port comes before the volume and the mute,
 * because a new port brings the volume and the mute that the sound server has stored for it. The volume comes
 * before the mute, because a loud output must be turned down before it is unmuted.
 */
const MEMBERS_RUN_FIRST: readonly string[] = ['port', 'volume', 'delta', 'muted', 'balance', 'position'];

/** A parameter in a template, such as `{output}`. */
const PARAMETER = /\{(\w+)\}/g;
const COMMAND_TOPICS = commandTopics();

function commandTopics(): readonly CommandTopic[] {
  const operations = OPERATION_NAMES.flatMap(namedOperations);
  const templates = new Set(operations.map(templateOf));
  return [...templates].map((template) => {
    const operationsAtTopic = operations.filter((operation) => templateOf(operation) === template);
    const members = operationsAtTopic.filter(({ by }) => by === 'member');
    return {
      template,
      pattern: new RegExp(`^${template.replaceAll(PARAMETER, '(?<$1>[^/]*)')}/set$`),
      words: operationsAtTopic.filter(({ by }) => by === 'word'),
      members: members.sort((a, b) => runOrder(a) - runOrder(b)),
      valueOperation: operationsAtTopic.find(({ by }) => by === 'topic-level'),
    };
  });
}

function namedOperations(operation: OperationName): readonly NamedOperation[] {
  const change = OPERATIONS[operation];
  return change.kind === 'command' ? change.mqtt.map((name) => ({ ...name, operation, change })) : [];
}

/**
 * With `by: 'topic-level'`, the name is the last level of the topic (`MqttName` in operations.ts). Any other
 * name may have a `topic` of its own, such as `audio/server` for the member `output`.
 */
function templateOf({ by, name, topic, change }: NamedOperation): string {
  return by === 'topic-level' ? `${change.topic}/${name}` : (topic ?? change.topic);
}

function runOrder(member: NamedOperation): number {
  // A parameter names what the other members act on, such as the new default output. So it runs first.
  if (isParameter(member)) return -1;
  const { name } = member;
  return MEMBERS_RUN_FIRST.includes(name) ? MEMBERS_RUN_FIRST.indexOf(name) : MEMBERS_RUN_FIRST.length;
}

/**
 * True if the operation's path has a parameter with the member's name. At the topic `audio/server`, for
 * instance, the value of the member `output` is the output that becomes the default.
 */
function isParameter({ name, change }: NamedOperation): boolean {
  return parametersOf(change.path).includes(name);
}

/**
 * The filters are relative to the node's topic. They match no topic that the node publishes, whatever the
 * names of outputs and players are: a published topic ends with the name, and a command's topic has a further
 * level.
 */
export const COMMAND_FILTERS: readonly string[] = COMMAND_TOPICS.map(
  ({ template }) => `${template.replaceAll(PARAMETER, '+')}/set`,
);

export function isCommand(topic: string): boolean {
  return matchTopic(topic) !== undefined;
}

function matchTopic(topic: string): MatchedTopic | undefined {
  for (const { pattern, words, members, valueOperation } of COMMAND_TOPICS) {
    const match = pattern.exec(topic);
    if (match === null) continue;
    const levels = Object.entries(match.groups ?? {});
    const params = levels.map(([parameter, level]) => [parameter, percentDecodedText(level)]);
    return { topic, words, members, valueOperation, params: Object.fromEntries(params) };
  }
  return undefined;
}

/** Returns the words that the topic takes. The refusal of any other word lists them. */
export function wordsAt(topic: string): readonly string[] {
  const matched = matchTopic(topic);
  if (matched === undefined) return [];
  const { words, valueOperation } = matched;
  const valueWords = valueOperation === undefined ? undefined : PLAIN_BODIES[valueOperation.name]?.words;
  return [...words.map(({ name }) => name), ...(valueWords ?? [])];
}

/**
 * `topic` is relative to the node's topic. A word that the topic does not take becomes a request without an
 * operation.
 */
export function requestsOf(topic: string, payload: string): readonly QueuedRequest[] {
  const matched = matchTopic(topic);
  if (matched === undefined) return [];
  const { words, members, valueOperation } = matched;
  if (valueOperation !== undefined) return [plainValueRequest(matched, valueOperation, payload)];
  const json = boundedJson(payload);
  // A list or `null` also counts as an object. A payload that begins like an object also counts as one, even
  // if it is broken or too large to be parsed. If the topic takes objects, `memberRequests` passes such a
  // payload to an operation, which refuses it.
  const isMeantAsObject = typeof json === 'object' || payload.trimStart().startsWith('{');
  const takesWords = words.length > 0;
  const takesThisObject = members.length > 0 && isMeantAsObject;
  if (takesWords && !takesThisObject) return [wordRequest(matched, wordIn(payload))];
  return memberRequests(matched, json, payload);
}

function wordRequest({ topic, words, params }: MatchedTopic, word: string): QueuedRequest {
  const named = words.find(({ name }) => name === word);
  return queuedRequest(topic, { operation: named?.operation, params }, named?.setting);
}

/** `audio/server/volume/set` with `0.4` is handled like `audio/server/set` with `{"volume": 0.4}`. */
function plainValueRequest(
  { topic, params }: MatchedTopic,
  valueOperation: NamedOperation,
  payload: string,
): QueuedRequest {
  const objectTopic = topic.replace(/\/[^/]+\/set$/, '/set');
  const body = PLAIN_BODIES[valueOperation.name]?.bodyOf(wordIn(payload));
  if (body === undefined) return queuedRequest(objectTopic, { operation: undefined, params });
  const { operation } = valueOperation;
  if (isTooLongForBody(payload))
    return queuedRequest(objectTopic, { operation, params, invalidBody: payload });
  // An empty body toggles. Every toggle must be carried out, because its effect depends on the state before
  // it.
  const isToggle = Object.keys(body).length === 0;
  const setting = isToggle ? undefined : valueOperation.setting;
  return queuedRequest(objectTopic, { operation, params, body }, setting);
}

/**
 * Returns one request for each member of the object, except for redundant members (`isRedundant`). In two
 * cases it returns a single request, with the whole payload:
 * - The payload is no object, has no member, or has an unknown member. The operation refuses the payload.
 * - Two members ask for the same operation. The operation decides whether it accepts both: `startSleep`
 *   accepts `minutes` with `fade`, but `setOutputVolume` refuses `volume` with `delta`.
 */
function memberRequests(matched: MatchedTopic, json: unknown, payload: string): readonly QueuedRequest[] {
  const { topic, params } = matched;
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  const values = new Map<string, unknown>(isObject ? Object.entries(json) : []);
  const knownMembers = matched.members.filter(({ name }) => values.has(name));
  const hasOnlyKnownMembers = knownMembers.length > 0 && knownMembers.length === values.size;
  const membersToRun = knownMembers.filter((member) => !isRedundant(member, knownMembers, values));
  const areOperationsDistinct =
    membersToRun.length === new Set(membersToRun.map(({ operation }) => operation)).size;
  if (hasOnlyKnownMembers && areOperationsDistinct) {
    const requests: QueuedRequest[] = [];
    // The name of the latest member that is a choice. The members after it act on what it chooses.
    let latestChoice: string | undefined;
    for (const member of membersToRun) {
      const request = memberRequest(params, member, values.get(member.name));
      const queued = queuedRequest(topic, request, member.setting);
      const field = member.name;
      requests.push(
        latestChoice === undefined ? queued : { ...queued, behind: { field, choice: latestChoice } },
      );
      if (queued.isChoice === true) latestChoice = field;
    }
    return requests;
  }
  // The operation of this member checks the whole payload. A member that is a parameter of the path is not
  // used: its operation would complain of the missing parameter, and not of the payload.
  const checkingMember = [...knownMembers, ...matched.members].find((member) => !isParameter(member));
  const wholePayload = json === undefined ? { invalidBody: payload } : { body: json };
  const request = { operation: checkingMember?.operation, params, ...wholePayload };
  return [queuedRequest(topic, request)];
}

/**
 * True if the member has `isBare` and the value `true`, and another member requests the same operation. So
 * `default` is redundant in `{"default": true, "move": true}`.
 */
function isRedundant(
  { isBare, name, operation }: NamedOperation,
  knownMembers: readonly NamedOperation[],
  values: ReadonlyMap<string, unknown>,
): boolean {
  const isBareTrue = isBare === true && values.get(name) === true;
  return isBareTrue && knownMembers.some((other) => other.operation === operation && other.name !== name);
}

function memberRequest(params: MatchedTopic['params'], member: NamedOperation, value: unknown): ChildRequest {
  const { operation, name, bodyMember = name, isBare } = member;
  if (isParameter(member)) {
    // The operation gets each parameter as a text, even if the value is a number or an object.
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return { operation, params: { ...params, [name]: text } };
  }
  // A member with `isBare` needs no body if its value is `true`. The operation checks any other value.
  if (isBare === true && value === true) return { operation, params };
  return { operation, params, body: { [bodyMember]: value } };
}

/** Replaces each published name by the name or id that a request needs (`Branch.referenceTo`). */
export function withReferences(
  request: ChildRequest,
  referenceTo: (kind: ReferredKind, name: string) => string,
): ChildRequest {
  const params = Object.entries(request.params ?? {}).map(([parameter, name]) =>
    isReferredKind(parameter) && name !== undefined
      ? [parameter, referenceTo(parameter, name)]
      : [parameter, name],
  );
  const withParams = { ...request, params: Object.fromEntries(params) };
  const { body } = request;
  if (typeof body !== 'object' || body === null || !('output' in body)) return withParams;
  const { output } = body;
  if (typeof output !== 'string') return withParams;
  return { ...withParams, body: { ...body, output: referenceTo('output', output) } };
}

function isReferredKind(parameter: string): parameter is ReferredKind {
  return ['output', 'input', 'card', 'client'].includes(parameter);
}

/**
 * Settings of the whole node: the default output and the default input. A newer command for such a setting
 * replaces an older one for the same setting, even if the two came at different topics.
 */
const SETTINGS_OF_NODE: readonly string[] = ['default', 'default input'];

/**
 * Later commands act on what these settings choose. The list lacks the default input, because no command acts
 * on the default input.
 */
const CHOICES: readonly string[] = ['default', 'port', 'profile'];

/** `setting` is what the request sets at the topic; undefined if every such request must be carried out. */
function queuedRequest(topic: string, request: ChildRequest, setting?: string): QueuedRequest {
  // The audio backend runs commands one after another. Their order matters even across topics: a new default
  // output must come before its volume. So all audio commands share one queue.
  const queue = topic.startsWith('audio/') ? 'audio' : topic;
  if (setting === undefined) return { request, queue };
  const isOfNode = SETTINGS_OF_NODE.includes(setting);
  const isChoice = CHOICES.includes(setting);
  return { request, queue, setting: isOfNode ? setting : `${topic} ${setting}`, isChoice };
}
