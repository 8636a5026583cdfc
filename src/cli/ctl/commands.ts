// Makes a command of `tonearm ctl` from each operation, and decides which words the command takes. The build
// computes the values that this file exports, and puts them in place of the file
// (packaging/computed-modules.mjs). So the program loads neither the table of operations nor the schemas.

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

/** A member of a request's body, such as `volume`. A request for a log has the field `lines` in its query. */
export interface CommandField {
  readonly name: string;
  readonly type: 'number' | 'integer' | 'boolean' | 'string';
  /** All allowed values, if they are a closed list. */
  readonly values?: readonly string[] | undefined;
  readonly minimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly description?: string | undefined;
}

/** A parameter of a path, such as `output`. */
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
   * Exactly one field of each inner list must have a value. `[['id'], ['name']]` requires both fields, and
   * `[['volume', 'delta']]` requires one of the two.
   */
  readonly required: readonly (readonly string[])[];
  /** True for a mute: a request without the field `muted` toggles the mute. */
  readonly toggles: boolean;
  /** The name of the answer's schema, if the answer is JSON. Undefined for bytes, and for each `POST`. */
  readonly answerSchema?: ComponentName | undefined;
}

/** The members of a body's JSON Schema that this file reads. */
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

/**
 * The headings of `tonearm ctl --help`, by the backend of an operation. All other operations stand below
 * `NODE_SECTION`.
 */
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
 * The schema of a body has one variant, or a choice of several. In a choice, each variant requires a
 * different field, such as `volume` or `delta`, and a request has exactly one of these fields.
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
