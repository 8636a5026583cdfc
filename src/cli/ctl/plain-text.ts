// Decides how an answer looks in a terminal: a list is a table, and a record has a line for each member.
// Pure.

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

const OUTPUT_COLUMNS: readonly (keyof OutputRecord)[] = [
  'name',
  'label',
  'volume',
  'muted',
  'default',
  'state',
];
const INPUT_COLUMNS: readonly (keyof InputRecord)[] = ['name', 'description', 'volume', 'muted', 'default'];
const CARD_COLUMNS: readonly (keyof CardRecord)[] = ['name', 'description', 'active_profile'];
const CLIENT_COLUMNS: readonly (keyof ClientRecord)[] = ['id', 'name', 'app', 'volume', 'muted', 'output'];
const SERVICE_COLUMNS: readonly (keyof ServiceRecord)[] = [
  'scope',
  'name',
  'active_state',
  'sub_state',
  'enabled',
];
const PLAYER_COLUMNS: readonly (keyof PlayerRecord)[] = ['bus_name', 'identity', 'playback_status', 'volume'];
const NODE_COLUMNS: readonly (keyof NodeRecord)[] = ['name', 'host', 'port', 'version', 'self'];
const DEVICE_COLUMNS: readonly (keyof DeviceRecord)[] = ['address', 'name', 'paired', 'connected', 'battery'];
const LOG_ENTRY_COLUMNS: readonly (keyof LogEntryRecord)[] = ['time', 'priority', 'message'];

/**
 * The columns of a list's table, by the name of the list. A list is the answer to an operation, or a member
 * of a record, and has the name of this operation or member. If the name is not in this table, the columns
 * are the members of the list's first record.
 */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  outputs: OUTPUT_COLUMNS,
  inputs: INPUT_COLUMNS,
  cards: CARD_COLUMNS,
  clients: CLIENT_COLUMNS,
  services: SERVICE_COLUMNS,
  players: PLAYER_COLUMNS,
  nodes: NODE_COLUMNS,
  bluetoothDevices: DEVICE_COLUMNS,
  known_devices: DEVICE_COLUMNS,
  unitLog: LOG_ENTRY_COLUMNS,
  upgradeLog: LOG_ENTRY_COLUMNS,
};

/** Members that are printed in percent. */
const PERCENT_MEMBERS = ['volume', 'volume_limit', 'volume_step'];
const GAP = '  ';
const NO_VALUE = '-';

/** The lines of the answer to an operation. */
export function plainLines(operation: string, answer: unknown): readonly string[] {
  if (Array.isArray(answer)) return listLines(operation, answer as readonly PlainRecord[]);
  return isRecord(answer) ? memberLines(answer, '') : [cell(operation, answer)];
}

/**
 * `name` is the name of an operation or of a member, as in `COLUMNS`. Two members are printed in a way of
 * their own: `commands` in the answer to `network`, and `tracks` in the answer to `tracklist`.
 */
function listLines(name: string, records: readonly PlainRecord[]): readonly string[] {
  if (name === 'commands') return records.flatMap(commandLines);
  return tableLines(name, name === 'tracks' ? records.map(trackRow) : records);
}

/**
 * People type the texts in `lines` on another computer. Each text is printed on a line of its own, so that
 * people can copy it. The member `for` is the kind of sound server that the other computer has. The member
 * `use` is `program` if one program of that computer plays on the node, and `output` if the node becomes an
 * output of that computer.
 */
function commandLines({ for: server, use, lines }: PlainRecord): readonly string[] {
  const linesToType: readonly unknown[] = Array.isArray(lines) ? lines : [];
  return [
    `${cell('for', server)}, ${cell('use', use)}:`,
    ...linesToType.map((line) => GAP + cell('lines', line)),
  ];
}

/** If a track has no title, the address of its file stands in the column of titles, as on the page. */
function trackRow({ track_id, metadata }: PlainRecord): PlainRecord {
  const tags = isRecord(metadata) ? metadata : {};
  return { track_id, title: tags['xesam:title'] || tags['xesam:url'], artist: tags['xesam:artist'] };
}

function tableLines(name: string, records: readonly PlainRecord[]): readonly string[] {
  const columns = columnsOf(name) ?? Object.keys(records[0] ?? {});
  const rows = records.map((record) => columns.map((column) => cell(column, record[column])));
  const table = [columns.map(printable), ...rows];
  const widths = columns.map((_, index) => Math.max(...table.map((row) => width(row[index] ?? ''))));
  return table.map((row) =>
    row
      .map((text, index) => padded(text, widths[index] ?? 0))
      .join(GAP)
      .trimEnd(),
  );
}

/**
 * Undefined also for the name of a member that every object has, such as `constructor`. A list may have any
 * name.
 */
function columnsOf(name: string): readonly string[] | undefined {
  return Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
}

/**
 * Returns a line for each member. A member of a member has both names, such as `capabilities.can_play`. The
 * records of a list (`listLines`) stand below the name of the list.
 */
function memberLines(record: PlainRecord, prefix: string): readonly string[] {
  return Object.entries(record).flatMap(([key, value]) => {
    const name = `${prefix}${key}`;
    if (isRecord(value)) return memberLines(value, `${name}.`);
    // An empty list is one line. A list with an item that is no record is one line, too.
    const isRecordList = Array.isArray(value) && value.length > 0 && value.every(isRecord);
    if (!isRecordList) return [`${printable(name)}: ${cell(key, value)}`];
    return [`${printable(name)}:`, ...listLines(name, value).map((line) => GAP + line)];
  });
}

function isRecord(value: unknown): value is PlainRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function cell(name: string, value: unknown): string {
  if (value === undefined || value === null) return NO_VALUE;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && PERCENT_MEMBERS.includes(name)) return `${Math.round(value * 100)}%`;
  if (Array.isArray(value)) return value.map((item) => cell(name, item)).join(', ') || NO_VALUE;
  return printable(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

function padded(text: string, minWidth: number): string {
  return text + ' '.repeat(Math.max(0, minWidth - width(text)));
}

/**
 * The width in code points. Texts with characters that a terminal displays two columns wide are therefore
 * not aligned.
 */
function width(text: string): number {
  return [...text].length;
}
