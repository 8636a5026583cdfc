// Which parameters the paths of operations have, and which values each parameter may have. Pure.

/** The values of each parameter: an id or a name, only a name, or one of the listed words. */
export const PARAMETERS = {
  output: 'id or name',
  input: 'id or name',
  card: 'id or name',
  client: 'id or name',
  player: 'name',
  trackid: 'name',
  scope: ['user', 'system'],
  unit: 'name',
} as const satisfies Record<string, ParameterKind>;

/**
 * How long a name in a path or a body may be. The limit is wide: names in sound servers have up to a few
 * hundred characters, and ids of tracks may be URLs.
 */
export const NAME_MAX_CHARACTERS = 4_096;

/**
 * The form of a unit's name, such as `mpd.service` (systemd.unit(5)), and the form of a player's name. A
 * player's name is its bus name, either whole or without the prefix, such as `vlc`. The forms are only for
 * the OpenAPI document. No request is checked against them, because no unit and no player has a name of
 * another form.
 */
export const NAME_FORMS: Readonly<Record<string, { readonly pattern: string; readonly maxLength: number }>> =
  {
    unit: { pattern: '^[0-9A-Za-z:\\-_.\\\\@]+$', maxLength: 255 },
    player: { pattern: '^[0-9A-Za-z_.\\-]+$', maxLength: 255 },
  };

/**
 * The parameters whose name in the OpenAPI document differs from the name in `PARAMETERS`. Programs whose
 * code is generated from the document depend on the documented name.
 */
const DOCUMENTED_NAMES: Readonly<Record<string, string>> = { client: 'sink' };

/** A path as the OpenAPI document has it: `/audio/clients/{client}` is `/audio/clients/{sink}` there. */
export function documentedPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => `{${documentedName(name)}}`);
}

export function documentedName(parameter: string): string {
  return DOCUMENTED_NAMES[parameter] ?? parameter;
}

export type UnitScope = (typeof PARAMETERS.scope)[number];

export type ParameterKind = 'id or name' | 'name' | readonly string[];

export type ParameterName = keyof typeof PARAMETERS;

/** The type of a parameter's value: `scope` makes `'user' | 'system'`, any other name makes `string`. */
type ParameterValue<Name extends ParameterName> = Name extends 'scope' ? UnitScope : string;

/** The names of the parameters of a path: `/services/{scope}/{unit}` makes `'scope' | 'unit'`. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer PathAfterName}`
  ? Name | NamesIn<PathAfterName>
  : never;

/**
 * The type of the parameters of a path: `/services/{scope}/{unit}` makes
 * `{ scope: 'user' | 'system', unit: string }`.
 */
export type ParamsOf<Path extends string> = {
  readonly [Name in NamesIn<Path> & ParameterName]: ParameterValue<Name>;
};

/** The bounds and the default for `lines`: the number of a log's newest lines that a client requests. */
export const LOG_LINES = { minimum: 1, maximum: 200, byDefault: 20 } as const;

/** The decoded values of a path's parameters, by name. */
export type Params = Readonly<Record<string, string>>;

/** The names of the parameters in a path, in order. */
export function parametersOf(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

/** The words that a parameter may have as its value; undefined if its value is an id or a name. */
export function allowedValues(parameter: string): readonly string[] | undefined {
  const kinds: Readonly<Record<string, ParameterKind>> = PARAMETERS;
  const kind = kinds[parameter];
  return typeof kind === 'string' ? undefined : kind;
}
