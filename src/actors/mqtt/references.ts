// An MQTT command has the published name of an output, input, card or client. The command becomes a request.
// This file decides by which name or id the request refers to the same record. Pure.

interface NamedRow {
  /** The record's own name. Other records may have it too. */
  readonly recordName: string;
  /** The name in topics and commands. No other record has it. */
  readonly publishedName: string;
}

/** A request takes digits as an id. It takes them as a name only if no record has this id. */
const DIGITS = /^\d+$/;

/**
 * The reference to the output, input or card that is published under `name`. The reference is `name` itself
 * if this name can mean no other record in a request, else the id. If nothing is published under `name`, the
 * result is also `name`.
 */
export function deviceReference(rowsById: ReadonlyMap<string, NamedRow>, name: string): string {
  const published = [...rowsById].find(([, row]) => row.publishedName === name);
  if (published === undefined) return name;
  const [id, { recordName }] = published;
  // A request takes only a record's own name or its id. If two records have the name `speaker`, they are
  // published as `speaker` and `speaker #7`. No request takes `speaker #7`, and `speaker` could mean either
  // record, so both need their ids.
  const isAlsoAnId = rowsById.has(name);
  const isShared = [...rowsById.values()].filter((row) => row.recordName === recordName).length > 1;
  const isUnambiguous = recordName === name && !isAlsoAnId && !isShared;
  return isUnambiguous ? name : id;
}

/**
 * The reference to a client. No two clients have the same name, but a name of digits may be the id of
 * another client. So the reference to a client with such a name is its id.
 */
export function clientReference(
  rowsById: ReadonlyMap<string, { readonly json: string }>,
  name: string,
): string {
  if (!DIGITS.test(name)) return name;
  for (const [id, { json }] of rowsById) {
    const record: { readonly name: string } = JSON.parse(json);
    if (record.name === name) return id;
  }
  return name;
}
