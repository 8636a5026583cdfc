// Answers as people read them in a terminal: a list is a table, and a record has a line for each member.
// A program that reads answers uses `--json` instead. Pure.

import { printable } from '../../printable.js';
import type {
  CardRecord,
  ClientRecord,
  DeviceRecord,
  InputRecord,
  LogEntryRecord,
  NodeRecord,
  OutputRecord,
  PlayerRecord,
  ServiceRecord,
} from '../../protocol/actor/schemas.js';

type PlainRecord = Readonly<Record<string, unknown>>;

const OUTPUT: readonly (keyof OutputRecord)[] = ['name', 'label', 'volume', 'muted', 'default', 'state'];
const INPUT: readonly (keyof InputRecord)[] = ['name', 'description', 'volume', 'muted', 'default'];
const CARD: readonly (keyof CardRecord)[] = ['name', 'description', 'active_profile'];
const CLIENT: readonly (keyof ClientRecord)[] = ['id', 'name', 'app', 'volume', 'muted', 'output'];
const SERVICE: readonly (keyof ServiceRecord)[] = ['scope', 'name', 'active_state', 'sub_state', 'enabled'];
const PLAYER: readonly (keyof PlayerRecord)[] = ['bus_name', 'identity', 'playback_status', 'volume'];
const NODE: readonly (keyof NodeRecord)[] = ['name', 'host', 'port', 'version', 'self'];
const DEVICE: readonly (keyof DeviceRecord)[] = ['address', 'name', 'paired', 'connected', 'battery'];
const ENTRY: readonly (keyof LogEntryRecord)[] = ['time', 'priority', 'message'];

/**
 * The columns of a list's table, by operation and by member of a record. A list that is not named here has
 * those members of its first record that are no objects and no lists.
 */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  outputs: OUTPUT,
  inputs: INPUT,
  cards: CARD,
  clients: CLIENT,
  services: SERVICE,
  players: PLAYER,
  nodes: NODE,
  bluetoothDevices: DEVICE,
  known_devices: DEVICE,
  unitLog: ENTRY,
  upgradeLog: ENTRY,
};

/** Members that are printed in percent. */
const PERCENT = ['volume', 'volume_limit', 'volume_step'];
const GAP = '  ';
const NOTHING = '-';

/** The lines of the answer to an operation. */
export function plainLines(operation: string, answer: unknown): readonly string[] {
  if (Array.isArray(answer)) return tableLines(operation, answer as readonly PlainRecord[]);
  return isRecord(answer) ? memberLines(answer, '') : [cell(operation, answer)];
}

function tableLines(name: string, records: readonly PlainRecord[]): readonly string[] {
  const [first = {}] = records;
  const columns = columnsOf(name) ?? Object.keys(first).filter((key) => typeof first[key] !== 'object');
  const rows = records.map((record) => columns.map((column) => cell(column, record[column])));
  const table = [columns.map(printable), ...rows];
  const widths = columns.map((_, at) => Math.max(...table.map((row) => width(row[at] ?? ''))));
  return table.map((row) =>
    row
      .map((text, at) => padded(text, widths[at] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/** Undefined also for a name that every object has, such as `constructor`: a member may have any name. */
function columnsOf(name: string): readonly string[] | undefined {
  return Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
}

/**
 * A line for each member. A member of a member is called by both names, with a dot between them. A list of
 * records is a table.
 */
function memberLines(record: PlainRecord, path: string): readonly string[] {
  return Object.entries(record).flatMap(([key, value]) => {
    const name = `${path}${key}`;
    if (isRecord(value)) return memberLines(value, `${name}.`);
    const isTable = Array.isArray(value) && value.length > 0 && value.every(isRecord);
    if (!isTable) return [`${printable(name)}: ${cell(key, value)}`];
    return [`${printable(name)}:`, ...tableLines(key, value).map((line) => GAP + line)];
  });
}

function isRecord(value: unknown): value is PlainRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function cell(name: string, value: unknown): string {
  if (value === undefined || value === null) return NOTHING;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && PERCENT.includes(name)) return `${Math.round(value * 100)}%`;
  if (Array.isArray(value)) return value.map((each) => cell(name, each)).join(', ') || NOTHING;
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)));
}

/** The width in code points. Terminals display some of them two columns wide, and these are not aligned. */
function width(text: string): number {
  return [...text].length;
}
