// Decides which commands `tonearm ctl` has, and which words each takes. The build computes the values that
// this file exports, and puts them in place of the file (packaging/computed-modules.mjs). So the program
// loads neither the table of operations nor the schemas.

import type { ChildName } from '../../protocol/actor/backends.js';
import { EVENTS } from '../../protocol/actor/collections.js';
import {
  OPERATION_NAMES,
  OPERATIONS,
  type Operation,
  type OperationName,
} from '../../protocol/actor/operations.js';
import { allowedValues, documentedPath, LOG_LINES, parametersOf } from '../../protocol/actor/parameters.js';
import { BODIES, type ComponentName } from '../../protocol/actor/schemas.js';

/** A member of the request's body, such as `volume`, or `lines` in the query of a log. */
export interface CommandField {
  readonly name: string;
  readonly type: 'number' | 'integer' | 'boolean' | 'string';
  /** All allowed values, if they are a closed list. */
  readonly values?: readonly string[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly description?: string | undefined;
}

export interface CommandParameter {
  readonly name: string;
  /** All allowed values; undefined if the value is the name or id of an output, a player or the like. */
  readonly values?: readonly string[] | undefined;
}

export interface CtlCommand {
  readonly operation: OperationName;
  readonly section: string;
  readonly summary: string;
  /** The method and the path, such as `POST /audio/outputs/{output}/volume`. */
  readonly route: string;
  readonly parameters: readonly CommandParameter[];
  /** A word such as `0.4` is the value of the next field that it fits; `volume=0.4` names its field. */
  readonly fields: readonly CommandField[];
  /**
   * Each list names fields of which one must have a value. `[['id'], ['name']]` requires both fields, and
   * `[['volume', 'delta']]` one of the two.
   */
  readonly required: readonly (readonly string[])[];
  /** True for a mute: a call without the field `muted` toggles the mute. */
  readonly toggles: boolean;
  /** The schema of the answer; undefined for bytes, and for an operation that only changes something. */
  readonly answerSchema?: ComponentName | undefined;
}

/** The parts of a JSON Schema that bodies have. */
interface BodySchema {
  readonly type?: string;
  readonly anyOf?: readonly BodySchema[];
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, BodySchema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly description?: string;
}

/** Headings by backend. All other operations stand below `NODE_SECTION`. */
const SECTIONS: Readonly<Partial<Record<ChildName, string>>> = {
  audio: 'Sound',
  systemd: 'Units',
  power: 'Power',
  upgrade: 'Upgrades',
  players: 'Players',
  bluetooth: 'Bluetooth',
};
const NODE_SECTION = 'The node';

const LINES_FIELD: CommandField = {
  name: 'lines',
  type: 'integer',
  minimum: LOG_LINES.minimum,
  maximum: LOG_LINES.maximum,
  description: `the newest; ${LOG_LINES.byDefault} by default`,
};

/** `setOutputVolume` is `output-volume`, and `listenToInput` is `listen-to-input`. */
function commandName(operation: OperationName): string {
  const words = operation.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return words.replace(/^set-/, '');
}

function fieldOf([name, schema]: readonly [string, BodySchema]): CommandField {
  // A field with `anyOf` takes an id or a name. It is a text here, because the node takes both as a text.
  const type = schema.anyOf === undefined ? (schema.type ?? 'string') : 'string';
  const { minimum, maximum, description } = schema;
  return { name, type: type as CommandField['type'], values: schema.enum, minimum, maximum, description };
}

/**
 * The schema of a body is an object, or a choice of several objects. Each object of a choice requires one
 * field, such as `volume` in one object and `delta` in the other, and a call has only one of these fields.
 */
function fieldsOf(operation: Operation): Pick<CtlCommand, 'fields' | 'required'> {
  if (operation.method === 'GET')
    return { fields: operation.kind === 'log' ? [LINES_FIELD] : [], required: [] };
  if (operation.body === undefined) return { fields: [], required: [] };
  const schema = BODIES[operation.body] as BodySchema;
  const variants = schema.anyOf ?? [schema];
  const fields = variants.flatMap(({ properties = {} }) => Object.entries(properties).map(fieldOf));
  const requiredNames = variants.flatMap((variant) => variant.required ?? []);
  const isChoice = variants.length > 1;
  return { fields, required: isChoice ? [requiredNames] : requiredNames.map((name) => [name]) };
}

function commandOf(operation: OperationName): CtlCommand {
  const row: Operation = OPERATIONS[operation];
  const isChange = row.method === 'POST';
  const backendSection = 'backend' in row ? SECTIONS[row.backend] : undefined;
  return {
    operation,
    section: backendSection ?? NODE_SECTION,
    summary: row.summary,
    route: `${row.method} ${documentedPath(row.path)}`,
    parameters: parametersOf(row.path).map((name) => ({ name, values: allowedValues(name) })),
    ...fieldsOf(row),
    toggles: isChange && row.body === 'mute',
    answerSchema: isChange ? undefined : row.schema,
  };
}

/** The commands by their names, in the order of the table of operations. */
export const COMMANDS: Readonly<Record<string, CtlCommand>> = Object.fromEntries(
  OPERATION_NAMES.map((operation) => [commandName(operation), commandOf(operation)]),
);

export const EVENT_TYPES: readonly string[] = Object.keys(EVENTS);
