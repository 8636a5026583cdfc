// Decides which thing a word names, such as `kitchen` for the output with the label `Kitchen`. A word that
// fits nothing is sent as it is, because only the node decides whether it is wrong.

import type { Tonearm } from '../../client/routes.js';
import { printable } from '../../printable.js';
import type { OperationName } from '../../protocol/actor/operations.js';
import type { ParameterName } from '../../protocol/actor/parameters.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { askNode } from './ask.js';
import type { RequestArguments } from './words.js';

/** A record of any list. */
type ListedRecord = Readonly<Record<string, unknown>>;

/** A kind of things that words can name. */
interface ListedKind {
  /** The operation that lists these things. */
  readonly listOperation: OperationName;
  /** The member of a record by which the node knows the thing. */
  readonly keyMember: string;
  /** True if the things also have ids, which are numbers. A word of digits is then an id. */
  readonly hasIds?: true;
  /** The other names of the thing. */
  readonly otherNames: (record: ListedRecord) => readonly unknown[];
}

const PLAYER_PREFIX = /^org\.mpris\.MediaPlayer2\./;
const SERVICE_SUFFIX = /\.service$/;

/** The keys are parameters of paths, and fields of bodies. A word for the key `output` names an output. */
const KINDS: Readonly<Partial<Record<ParameterName | 'address', ListedKind>>> = {
  output: {
    listOperation: 'outputs',
    keyMember: 'name',
    hasIds: true,
    otherNames: ({ label, description }) => [label, description],
  },
  input: {
    listOperation: 'inputs',
    keyMember: 'name',
    hasIds: true,
    otherNames: ({ description }) => [description],
  },
  card: {
    listOperation: 'cards',
    keyMember: 'name',
    hasIds: true,
    otherNames: ({ description }) => [description],
  },
  client: {
    listOperation: 'clients',
    keyMember: 'id',
    hasIds: true,
    otherNames: ({ name, app }) => [name, app],
  },
  player: {
    listOperation: 'players',
    keyMember: 'bus_name',
    otherNames: ({ bus_name: name, identity }) => [String(name).replace(PLAYER_PREFIX, ''), identity],
  },
  unit: {
    listOperation: 'services',
    keyMember: 'name',
    otherNames: ({ name }) => [String(name).replace(SERVICE_SUFFIX, '')],
  },
  address: { listOperation: 'bluetoothDevices', keyMember: 'address', otherNames: ({ name }) => [name] },
};

/** A word that is an id is sent as it is, and no list is read. */
const ID = /^\d+$/;
/** A message names this many things at most, and counts the others. */
const CANDIDATES_MAX = 12;

export interface NamedCall {
  readonly call: RequestArguments;
  /**
   * Texts for people, one for each word that fits nothing. Each text names the things that exist. The texts
   * are printed only if the node answers that there is no such thing.
   */
  readonly notes: readonly string[];
}

/**
 * Replaces each word that names a thing by the key of the thing. Fails if a word fits several things; the
 * error names these things. Rejects with a `ProblemError` if the node does not list the things.
 */
export async function resolveNames(
  node: Tonearm,
  call: RequestArguments,
): Promise<Result<NamedCall, string>> {
  const notes: string[] = [];
  const params: Record<string, string> = { ...call.params };
  const body: Record<string, unknown> = { ...call.body };
  for (const wordsByName of [params, body]) {
    for (const [parameterOrField, word] of Object.entries(wordsByName)) {
      const kind = kindFor(parameterOrField);
      if (kind === undefined || typeof word !== 'string') continue;
      const isId = kind.hasIds === true && ID.test(word);
      if (isId) continue;
      const records = await listRecords(node, kind, call.params['scope']);
      const fitting = fittingRecords(kind, records, word);
      if (fitting.length > 1)
        return failed(`${parameterOrField}: ${JSON.stringify(word)} may be ${listText(kind, fitting)}`);
      const [fittingRecord] = fitting;
      if (fittingRecord === undefined) notes.push(`there is ${listText(kind, records) || 'none'}`);
      else wordsByName[parameterOrField] = String(fittingRecord[kind.keyMember]);
    }
  }
  // A call without a body, such as a toggle, must not get an empty body.
  return success({ call: { params, body: call.body && body }, notes });
}

function kindFor(parameterOrField: string): ListedKind | undefined {
  const kinds: Readonly<Record<string, ListedKind>> = KINDS;
  return kinds[parameterOrField];
}

/** `scope` is the scope of a unit: `user` or `system`. Without a scope, the whole list is returned. */
async function listRecords(
  node: Tonearm,
  { listOperation }: ListedKind,
  scope = '',
): Promise<readonly ListedRecord[]> {
  const records = (await askNode(node, listOperation, [])) as readonly ListedRecord[];
  return records.filter((record) => scope === '' || record['scope'] === scope);
}

/**
 * A word fits a record if it is the key or another name of the record, in small or large letters. If the
 * word is exactly a key, it fits only records with this key.
 */
function fittingRecords(
  { keyMember, otherNames }: ListedKind,
  records: readonly ListedRecord[],
  word: string,
): readonly ListedRecord[] {
  const exact = records.filter((record) => record[keyMember] === word);
  if (exact.length > 0) return exact;
  const lowerCaseWord = word.toLowerCase();
  return records.filter((record) =>
    [record[keyMember], ...otherNames(record)].some((name) => String(name).toLowerCase() === lowerCaseWord),
  );
}

/** The records in a text for people, such as `kitchen (Kitchen), living (Living room)`. */
function listText({ keyMember, otherNames }: ListedKind, records: readonly ListedRecord[]): string {
  const texts = records.slice(0, CANDIDATES_MAX).map((record) => {
    const name = String(record[keyMember]);
    const [firstOtherName = name] = otherNames(record);
    return firstOtherName === name ? name : `${name} (${firstOtherName})`;
  });
  const others = records.length - texts.length;
  return printable(texts.join(', ')) + (others > 0 ? ` and ${others} more` : '');
}
