// What a command's topic and payload ask for, as a table: the routes that have the same effect (contract, section 8). Pure. It judges
// nothing: what makes no sense is asked for as it is, and the route's refusal says why.

import { boundedJson } from './bounded-json.js';
import { segmentOf } from './topics.js';

/** One `POST` to a route. */
export interface CommandAsk {
  readonly path: string;
  /** JSON, as it would be sent. */
  readonly body?: string;
  /** Asks of one queue are carried out in the order in which they came. */
  readonly queue: string;
  /** An ask that waits is forgotten when a newer one of the same name comes: it sets the same thing. Absent: it counts, however many come. */
  readonly supersedes?: string;
}

interface Step {
  /** Behind the path of what is commanded. */
  readonly path: string;
  /** What is set for good, as against shifted or toggled. */
  readonly sets?: string;
}

interface CommandField extends Step {
  /** Undefined: the route takes none. Without it the member itself is the body. */
  readonly body?: (value: unknown) => object | undefined;
  /** Where the route lies elsewhere than below what is commanded. */
  readonly at?: (value: unknown) => string;
}

interface Commanded {
  /** Levels of the topic; `*` stands for any, and is a segment of the path. */
  readonly levels: readonly string[];
  readonly words?: Readonly<Record<string, Step>>;
  readonly fields?: Readonly<Record<string, CommandField>>;
  /** All of one backend, or each of what is commanded by itself. */
  readonly queue: 'one' | 'each';
}

/** More of a word than any has. */
const WORD_CHARS_MAX = 32;

const VOLUME: CommandField = { path: 'volume', sets: 'volume' };

const LOUDNESS: Readonly<Record<string, CommandField>> = {
  volume: VOLUME,
  delta: { path: 'volume' },
  muted: { path: 'mute', sets: 'muted' },
};

const RUN = 'run';
const PLAYBACK = 'playback';

/** The sound server carries out one command at a time, and the order among outputs matters: a default, then its volume. */
const COMMANDED: readonly Commanded[] = [
  {
    levels: ['audio', 'server'],
    queue: 'one',
    fields: {
      ...LOUDNESS,
      output: {
        path: 'default',
        sets: 'default',
        at: (name) => `/audio/outputs/${encodeURIComponent(pathText(name))}`,
        body: () => undefined,
      },
    },
  },
  {
    levels: ['audio', 'outputs', '*'],
    queue: 'one',
    fields: {
      ...LOUDNESS,
      balance: { path: 'balance', sets: 'balance' },
      port: { path: 'port', sets: 'port' },
      default: {
        path: 'default',
        sets: 'default',
        body: (value) => (value === true ? undefined : { default: value }),
      },
    },
  },
  {
    levels: ['audio', 'clients', '*'],
    queue: 'one',
    fields: { ...LOUDNESS, output: { path: 'output', sets: 'output' } },
  },
  {
    levels: ['services', '*', '*'],
    queue: 'each',
    words: {
      start: { path: 'start', sets: RUN },
      stop: { path: 'stop', sets: RUN },
      restart: { path: 'restart', sets: RUN },
      enable: { path: 'enable', sets: 'enabled' },
      disable: { path: 'disable', sets: 'enabled' },
    },
  },
  {
    levels: ['players', '*'],
    queue: 'each',
    words: {
      play: { path: 'play', sets: PLAYBACK },
      pause: { path: 'pause', sets: PLAYBACK },
      stop: { path: 'stop', sets: PLAYBACK },
    },
    fields: {
      position: { path: 'position', sets: 'position' },
      offset: { path: 'seek' },
      volume: VOLUME,
      loop: { path: 'loop', sets: 'loop' },
      shuffle: { path: 'shuffle', sets: 'shuffle' },
    },
  },
  {
    levels: ['power'],
    queue: 'each',
    words: { reboot: { path: 'reboot', sets: RUN }, poweroff: { path: 'power_off', sets: RUN } },
  },
  {
    levels: ['upgrade'],
    queue: 'each',
    words: { check: { path: 'check', sets: 'check' }, start: { path: 'start', sets: 'start' } },
  },
];

/** Filters below the node's branch. They fit nothing that is published there, whatever names outputs and players have. */
export const COMMAND_FILTERS: readonly string[] = COMMANDED.map(({ levels }) =>
  [...levels, 'set'].join('/').replaceAll('*', '+'),
);

/** `topic` is below the node's branch. */
export function isCommand(topic: string): boolean {
  return commandedBy(topic) !== undefined;
}

/** What `payload` asks for at `topic`, which is below the node's branch. */
export function asksOf(topic: string, payload: string): readonly CommandAsk[] {
  const row = commandedBy(topic);
  if (row === undefined) return [];
  const levels = topic.split('/').slice(0, -1);
  const base = `/${levels.map(segmentOf).join('/')}`;
  const queue = row.queue === 'each' ? base : `/${levels[0]}`;
  const json = boundedJson(payload);
  const words = wordsFor(row, json, payload);
  if (words !== undefined) return [wordAsk(row, base, queue, words)];
  return fieldAsks(row.fields ?? {}, base, queue, json, payload);
}

function commandedBy(topic: string): Commanded | undefined {
  const levels = topic.split('/');
  if (levels.pop() !== 'set') return undefined;
  return COMMANDED.find(
    ({ levels: pattern }) =>
      pattern.length === levels.length && pattern.every((each, i) => each === '*' || each === levels[i]),
  );
}

/** The payload as a word, written bare or as JSON; undefined where it is to be taken for an object. */
function wordsFor({ words, fields }: Commanded, json: unknown, payload: string): string | undefined {
  if (words === undefined) return undefined;
  // Such a payload was meant for an object, also where it is none, or too large to be parsed.
  if (fields !== undefined && (typeof json === 'object' || payload.startsWith('{'))) return undefined;
  return typeof json === 'string' ? json : payload;
}

function wordAsk({ words }: Commanded, base: string, queue: string, word: string): CommandAsk {
  const step = words !== undefined && Object.hasOwn(words, word) ? words[word] : undefined;
  const path = `${base}/${step?.path ?? encodeURIComponent(pathText(word.slice(0, WORD_CHARS_MAX)))}`;
  return { path, queue, ...(step?.sets !== undefined && { supersedes: `${base} ${step.sets}` }) };
}

function fieldAsks(
  fields: Readonly<Record<string, CommandField>>,
  base: string,
  queue: string,
  json: unknown,
  payload: string,
): readonly CommandAsk[] {
  const given = typeof json === 'object' && json !== null && !Array.isArray(json) ? json : {};
  const members = Object.entries(fields).flatMap(([name, field]) =>
    Object.hasOwn(given, name) ? [{ name, field, value: (given as Record<string, unknown>)[name] }] : [],
  );
  const [first] = members;
  const both = Object.hasOwn(given, 'volume') && Object.hasOwn(given, 'delta');
  const isWrong = first === undefined || both || members.length !== Object.keys(given).length;
  if (isWrong) {
    // Nothing of it is carried out: one route is given the whole, and says what is wrong with it.
    const path = `${base}/${(first?.field ?? VOLUME).path}`;
    return [{ path, body: payload === '' ? '{}' : payload, queue }];
  }
  return members.map(({ name, field, value }) => {
    const at = field.at?.(value) ?? base;
    const body = field.body === undefined ? { [name]: value } : field.body(value);
    // Which output is the default is one thing, whatever topic it is set by.
    const supersedes = field.sets === 'default' ? 'default' : `${base} ${field.sets}`;
    return {
      path: `${at}/${field.path}`,
      queue,
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(field.sets !== undefined && { supersedes }),
    };
  });
}

/** In whole characters: half of one cannot be part of a path. */
function pathText(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).toString();
}
