// An MQTT command names a thing as it is published. Decides by which name or id the request for this command
// names the thing. Pure.

interface NamedRow {
  /** The record's own name. Other records may have it too. */
  readonly recordName: string;
  readonly publishedName: string;
}

/** A request takes digits as an id. Only if nothing has this id, it takes them as a name. */
const DIGITS = /^\d+$/;

/**
 * The reference to an output, input or card: its name if the name can mean no other thing, else its id. A
 * name under which nothing is published stays as it is.
 */
export function deviceReference(rowsById: ReadonlyMap<string, NamedRow>, name: string): string {
  const published = [...rowsById].find(([, row]) => row.publishedName === name);
  if (published === undefined) return name;
  const [id, { recordName }] = published;
  const isAlsoAnId = rowsById.has(name);
  const isShared = [...rowsById.values()].filter((row) => row.recordName === recordName).length > 1;
  const isUnambiguous = recordName === name && !isAlsoAnId && !isShared;
  return isUnambiguous ? name : id;
}

/** No two clients have the same name, but the name of a client may be the id of another client. */
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
