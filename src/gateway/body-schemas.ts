// Checks parsed bodies against their schemas, and describes a fault in one sentence. This file loads typebox,
// so only body.ts may import it, and only when the first body comes.

import type { TSchema } from 'typebox';
import { Check } from 'typebox/schema';
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
  readonly maxLength?: number;
  readonly required?: readonly string[] | undefined;
}

/** Limit for a refused value in a problem's detail. */
const QUOTED_CHARACTERS_MAX = 60;

/** One sentence; undefined if the body fits. */
export function bodyFault(name: BodyName, json: unknown): string | undefined {
  const schema = BODIES[name] as TSchema & PlainSchema;
  return Check(schema, json) ? undefined : explain(schema, json);
}

/**
 * Typebox lists the errors of every branch of a union; people need only the fault of the field that they
 * sent.
 */
function explain(schema: PlainSchema, json: unknown): string {
  const variants = schema.anyOf ?? [schema];
  const allowed: Record<string, PlainSchema> = Object.assign({}, ...variants.map((each) => each.properties));
  const names = Object.keys(allowed).join(' or ');
  if (json === undefined) return `A body is needed: an object with ${names}`;
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return `The body must be an object with ${names}, got ${quotedValue(json)}`;
  const fields = Object.entries(json);
  const unknown = fields.map(([field]) => field).find((field) => !Object.hasOwn(allowed, field));
  if (unknown !== undefined) return `Field ${quotedValue(unknown)} does not exist, only ${names}`;
  for (const [field, value] of fields) {
    const expected = allowed[field];
    if (expected === undefined || Check(expected, value)) continue;
    return `Field ${field} must be ${expectation(expected)}, got ${quotedValue(value)}`;
  }
  const missing = schema.required?.find((field) => !Object.hasOwn(json, field));
  if (missing !== undefined) return `Field ${missing} is missing`;
  // Each field fits by itself, so a required field is missing, or several fields exclude each other.
  return fields.length === 0 ? `Field ${names} is missing` : `Only one of ${names} can be given`;
}

function expectation(schema: PlainSchema): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(expectation).join(' or ');
  const { type = 'a value', minimum, maximum, pattern, maxLength } = schema;
  if (schema.enum !== undefined) return schema.enum.join(' or ');
  if (pattern !== undefined) return `a ${type} that matches ${pattern}`;
  const number = type === 'integer' ? 'an integer' : 'a number';
  if (minimum !== undefined && maximum !== undefined) return `${number} between ${minimum} and ${maximum}`;
  if (type === 'integer') return 'a non-negative integer';
  if (type === 'boolean') return 'true or false';
  return `a non-empty ${type}${maxLength === undefined ? '' : ` of at most ${maxLength} characters`}`;
}

/** Does not print objects: JSON.stringify overflows the stack on a body that is nested thousands deep. */
function quotedValue(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  // JSON.stringify would show 1e400, which parses to Infinity, as null.
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return text.length <= QUOTED_CHARACTERS_MAX ? text : `${text.slice(0, QUOTED_CHARACTERS_MAX)}...`;
}
