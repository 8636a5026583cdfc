// Checks parsed bodies against their schemas, and says in one sentence what is wrong. This file loads
// typebox, which takes megabytes of memory. So only body.ts may import this file, and only when the first
// body must be checked.

import type { TSchema } from 'typebox';
import { Check } from 'typebox/schema';
import { clipped } from '../printable.js';
import { BODIES, type BodyName } from '../protocol/actor/schemas.js';

/** The part of JSON Schema that the bodies use. */
interface PlainSchema {
  readonly type?: string;
  readonly anyOf?: readonly PlainSchema[];
  readonly properties?: Readonly<Record<string, PlainSchema>>;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly required?: readonly string[] | undefined;
}

/** A longer value is cut in a problem's detail. */
const QUOTED_MAX_CHARACTERS = 60;

/** One sentence that says why the body does not fit its schema; undefined if the body fits. */
export function bodyFault(name: BodyName, json: unknown): string | undefined {
  const schema = BODIES[name] as TSchema & PlainSchema;
  return Check(schema, json) ? undefined : explain(schema, json);
}

/** Typebox's own errors are not used, because for a union they are the errors of all its variants. */
function explain(schema: PlainSchema, json: unknown): string {
  const variants = schema.anyOf ?? [schema];
  const allowedFields: Record<string, PlainSchema> = Object.assign(
    {},
    ...variants.map(({ properties }) => properties),
  );
  const allowedNames = Object.keys(allowedFields).join(' or ');
  if (json === undefined) return `A body is needed: an object with ${allowedNames}`;
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return `The body must be an object with ${allowedNames}, got ${quotedValue(json)}`;
  const fields = Object.entries(json);
  const unknownField = fields.map(([field]) => field).find((field) => !Object.hasOwn(allowedFields, field));
  if (unknownField !== undefined)
    return `Field ${quotedValue(unknownField)} does not exist, only ${allowedNames}`;
  for (const [field, value] of fields) {
    const expected = allowedFields[field];
    if (expected === undefined || Check(expected, value)) continue;
    return `Field ${field} must be ${expectation(expected)}, got ${quotedValue(value)}`;
  }
  const missingField = schema.required?.find((field) => !Object.hasOwn(json, field));
  if (missingField !== undefined) return `Field ${missingField} is missing`;
  // A schema that is no union has been checked completely above, so this schema is a union. Each of its
  // variants has one field, such as `volume` or `delta`. All fields of the body are known, and their values
  // fit. So the body has either no field, or the fields of two variants.
  return fields.length === 0
    ? `Field ${allowedNames} is missing`
    : `Only one of ${allowedNames} can be given`;
}

function expectation(schema: PlainSchema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(expectation).join(' or ');
  // Every schema of `BODIES` that has no `anyOf` has a `type`. The default is only for the compiler.
  const { type = 'a value', minimum, maximum, pattern, minLength = 0, maxLength } = schema;
  if (schema.enum !== undefined) return schema.enum.join(' or ');
  if (pattern !== undefined) return `a ${type} that matches ${pattern}`;
  const typeOfNumber = type === 'integer' ? 'an integer' : 'a number';
  if (minimum !== undefined && maximum !== undefined)
    return `${typeOfNumber} between ${minimum} and ${maximum}`;
  // An integer of `BODIES` (schemas.ts) with only one bound has the minimum 0.
  if (type === 'integer') return 'a non-negative integer';
  if (type === 'boolean') return 'true or false';
  const typeText = minLength > 0 ? `non-empty ${type}` : type;
  const limitText = maxLength === undefined ? '' : ` of at most ${maxLength} characters`;
  return `a ${typeText}${limitText}`;
}

/**
 * Lists and objects are not printed, because JSON.stringify overflows the stack if a body has thousands of
 * nested levels.
 */
function quotedValue(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  // A body may have the number 1e400. It is parsed as Infinity, which JSON.stringify would print as null.
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return clipped(text, QUOTED_MAX_CHARACTERS);
}
