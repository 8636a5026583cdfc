// The parameters in the paths of operations: their names and allowed values. Pure.

/** A parameter of a path is an id or a name, a name alone, or one of these words. */
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
 * No name in a path or in a body is longer: those of sound servers have some hundred characters, ids of
 * tracks may be addresses.
 */
export const NAME_MAX_CHARACTERS = 4_096;

/**
 * Some names have a form: systemd's (systemd.unit(5)) and the bus's. Other texts name nothing, and are 404.
 */
export const NAME_FORMS: Readonly<Record<string, { readonly pattern: string; readonly maxLength: number }>> =
  {
    unit: { pattern: '^[0-9A-Za-z:\\-_.\\\\@]+$', maxLength: 255 },
    player: { pattern: '^[0-9A-Za-z_.\\-]+$', maxLength: 255 },
  };

/** The interface's documents call these parameters by another name, which generated clients depend on. */
const DOCUMENTED: Readonly<Record<string, string>> = { client: 'sink' };

/** A path as the documents write it: `/audio/clients/{client}` is `/audio/clients/{sink}` there. */
export function documentedPath(path: string): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => `{${documentedName(name)}}`);
}

export function documentedName(parameter: string): string {
  return DOCUMENTED[parameter] ?? parameter;
}

export type UnitScope = (typeof PARAMETERS.scope)[number];

export type ParameterKind = 'id or name' | 'name' | readonly string[];

export type ParameterName = keyof typeof PARAMETERS;

/** The type of a parameter's value: `scope` makes `'user' | 'system'`, any other makes `string`. */
type ValueOf<N extends ParameterName> = N extends 'scope' ? UnitScope : string;

/** The parameters of a path: `/services/{scope}/{unit}` makes `'scope' | 'unit'`. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** `/services/{scope}/{unit}` makes `{ scope: 'user' | 'system', unit: string }`. */
export type ParamsOf<P extends string> = { readonly [N in NamesIn<P> & ParameterName]: ValueOf<N> };

/** The query of a log: how many of the newest lines are requested. */
export const LOG_LINES = { minimum: 1, maximum: 200, byDefault: 20 } as const;

/** Decoded values, by their names in the path. */
export type Params = Readonly<Record<string, string>>;

export function parametersOf(path: string): readonly string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');
}

/** The allowed values of a parameter; undefined if it may be any text. */
export function allowedValues(parameter: string): readonly string[] | undefined {
  const kinds: Readonly<Record<string, ParameterKind>> = PARAMETERS;
  const kind = kinds[parameter];
  return typeof kind === 'string' ? undefined : kind;
}
