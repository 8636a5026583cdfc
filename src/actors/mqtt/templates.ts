// Home Assistant's templates (Jinja2), as text. A topic that was emptied has no JSON, and what is missing in it is an error there: then each
// says nothing, or what stands for that. Pure.

/** What an expression over `value_json` is, where there is JSON. `otherwise` is text. */
export function ofJson(expression: string, otherwise = ''): string {
  return `{% if value_json is defined %}{{ ${expression} }}{% else %}${otherwise}{% endif %}`;
}

/** Of a sensor, which takes this for unknown, and no empty text. */
export const UNKNOWN = 'None';

/** Whether something is available: an expression over `value_json`, and not where there is none. */
export function onlineIf(expression: string): string {
  return `{{ 'online' if value_json is defined and ${expression} else 'offline' }}`;
}

/** What an expression is called by a table; nothing of the table is UNKNOWN. Jinja2 reads the literals of JSON as its own. */
export function named(expression: string, names: ReadonlyMap<string, string>): string {
  return `${JSON.stringify(Object.fromEntries(names))}[${expression} | default('')] | default('${UNKNOWN}')`;
}
