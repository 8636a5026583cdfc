// Finds what a word names among the things that the node lists. People write `kitchen` for an output whose
// label is `Kitchen`. A word that fits nothing is sent as it is, because the node decides.

import type { Tonearm } from '../../client/routes.js';
import { printable } from '../../printable.js';
import type { OperationName } from '../../protocol/actor/operations.js';
import type { ParameterName } from '../../protocol/actor/parameters.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { askNode } from './ask.js';
import type { Call } from './words.js';

/** A record of any list. */
type Listed = Readonly<Record<string, unknown>>;

/** A kind of things that words can name. */
interface NamedThings {
  /** The operation that lists them. */
  readonly list: OperationName;
  /** The member of a record by which the node knows the thing. */
  readonly key: string;
  /** The other names of the thing. */
  readonly names: (record: Listed) => readonly unknown[];
}

const PLAYERS = /^org\.mpris\.MediaPlayer2\./;
const SERVICE = /\.service$/;

/** By the parameter, or the field, that names a thing. */
const THINGS: Readonly<Partial<Record<ParameterName | 'address', NamedThings>>> = {
  output: { list: 'outputs', key: 'name', names: ({ label, description }) => [label, description] },
  input: { list: 'inputs', key: 'name', names: ({ description }) => [description] },
  card: { list: 'cards', key: 'name', names: ({ description }) => [description] },
  client: { list: 'clients', key: 'id', names: ({ name, app }) => [name, app] },
  player: {
    list: 'players',
    key: 'bus_name',
    names: ({ bus_name: name, identity }) => [String(name).replace(PLAYERS, ''), identity],
  },
  unit: { list: 'services', key: 'name', names: ({ name }) => [String(name).replace(SERVICE, '')] },
  address: { list: 'bluetoothDevices', key: 'address', names: ({ name }) => [name] },
};

/** Outputs, inputs, cards and clients have such ids, which are sent without a look at the list. */
const ID = /^\d+$/;
/** A message names this many things at most, and counts the others. */
const CANDIDATES_MAX = 12;

export interface NamedCall {
  readonly call: Call;
  /**
   * For each word that fits nothing, a text that names the existing things. It is for people, and printed
   * only if the node knows no such thing.
   */
  readonly notes: readonly string[];
}

/**
 * Replaces the words of a call by the names that the node knows. Fails if a word fits several things; the
 * error names these. Rejects with a `ProblemError` if the node does not list the things.
 */
export async function resolveNames(node: Tonearm, call: Call): Promise<Result<NamedCall, string>> {
  const notes: string[] = [];
  const params: Record<string, string> = { ...call.params };
  const body: Record<string, unknown> = { ...call.body };
  for (const words of [params, body]) {
    for (const [name, word] of Object.entries(words)) {
      const things = thingsNamed(name);
      if (things === undefined || typeof word !== 'string' || ID.test(word)) continue;
      const records = await listed(node, things, call.params['scope']);
      const fitting = fittingRecords(things, records, word);
      const [only] = fitting;
      if (fitting.length > 1)
        return failed(`${name}: ${JSON.stringify(word)} may be ${lineOf(things, fitting)}`);
      if (only === undefined) notes.push(`there is ${lineOf(things, records) || 'none'}`);
      else words[name] = String(only[things.key]);
    }
  }
  return success({ call: { params, body: call.body && body }, notes });
}

function thingsNamed(name: string): NamedThings | undefined {
  const things: Readonly<Record<string, NamedThings>> = THINGS;
  return things[name];
}

async function listed(node: Tonearm, { list }: NamedThings, scope = ''): Promise<readonly Listed[]> {
  const records = (await askNode(node, list, [])) as readonly Listed[];
  return records.filter((record) => scope === '' || record['scope'] === scope);
}

function fittingRecords(
  { key, names }: NamedThings,
  records: readonly Listed[],
  word: string,
): readonly Listed[] {
  const exact = records.filter((record) => record[key] === word);
  if (exact.length > 0) return exact;
  const letters = word.toLowerCase();
  return records.filter((record) =>
    [record[key], ...names(record)].some((name) => String(name).toLowerCase() === letters),
  );
}

/** `kitchen (Kitchen), living (Living room)`. */
function lineOf({ key, names }: NamedThings, records: readonly Listed[]): string {
  const texts = records.slice(0, CANDIDATES_MAX).map((record) => {
    const name = String(record[key]);
    const [label = name] = names(record);
    return label === name ? name : `${name} (${label})`;
  });
  const beyond = records.length - texts.length;
  return printable(texts.join(', ')) + (beyond > 0 ? ` and ${beyond} more` : '');
}
