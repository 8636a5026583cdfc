// Home Assistant's templates (Jinja2), as text. An emptied topic has no JSON, and reading a missing field is an error in Home Assistant:
// then each template gives an empty text or its replacement. Pure.

/** The value of an expression over `value_json`; `otherwise`, a text, if there is no JSON. */
export function ifJson(expression: string, otherwise = ''): string {
  return `{% if value_json is defined %}{{ ${expression} }}{% else %}${otherwise}{% endif %}`;
}

/** A sensor shows this as unknown; an empty text it would not accept. */
export const UNKNOWN = 'None';

/** An availability template: an expression over `value_json`, offline if there is no JSON. */
export function onlineIf(expression: string): string {
  return `{{ 'online' if value_json is defined and ${expression} else 'offline' }}`;
}

/** Looks an expression's value up in a table; UNKNOWN if it is missing. Jinja2 accepts JSON literals. */
export function mapNames(expression: string, names: ReadonlyMap<string, string>): string {
  return `${JSON.stringify(Object.fromEntries(names))}[${expression} | default('')] | default('${UNKNOWN}')`;
}
