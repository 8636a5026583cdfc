// Makes the parameters and fields of a request from the words after a command. This file refuses words that
// are missing, too many, of a wrong form, or not in a closed list. The node checks the rest, such as the
// range of a number. Pure.

import { numberIn, SWITCH_WORDS, TOGGLE_WORD } from '../../protocol/actor/plain-values.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { CommandField, CtlCommand } from './commands.js';

export interface RequestArguments {
  readonly params: Readonly<Record<string, string>>;
  /** The body, or the query of a log. Undefined if no field has a value. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/** `fade=20`: the name of a field, and its value, which may have several lines. */
const NAMED_WORD = /^(\w+)=(.*)$/s;
/** A word with a sign, such as `+5%` or `-5%`. */
const SIGNED_WORD = /^[+-]/;

/** Accepted besides the words of a switch, because a script may have a value from JSON. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

/** Units of time for fields in microseconds. */
const MICROSECONDS: ReadonlyMap<string, number> = new Map([
  ['ms', 1_000],
  ['s', 1_000_000],
  ['m', 60_000_000],
]);
/** `1.5s`: a number, and a unit of MICROSECONDS. */
const TIME = /^(.*?)(ms|s|m)$/;

/** The error is a text for people, without the name of the command. */
export function readWords(command: CtlCommand, words: readonly string[]): Result<RequestArguments, string> {
  const { parameters } = command;
  // The first words are the parameters, in order. If there are two words, `parameters[2]` is the first
  // parameter that is missing.
  const missing = parameters[words.length];
  if (missing !== undefined) return failed(`${placeholder(missing.name)} is missing`);
  const params: Record<string, string> = {};
  for (const [position, { name, values }] of parameters.entries()) {
    const word = words[position] ?? '';
    if (values !== undefined && !values.includes(word))
      return failed(`${placeholder(name)}: ${quoted(word)} is not one of ${values.join(', ')}`);
    params[name] = word;
  }
  const body = readBody(command, words.slice(parameters.length));
  return body.ok ? success({ params, body: body.value }) : body;
}

/** The name of a parameter or a field in texts for people, such as `OUTPUT`. */
export function placeholder(name: string): string {
  return name.toUpperCase();
}

/** Each word is the value of the next field that it fits, or has the form `field=value`. */
function readBody(command: CtlCommand, words: readonly string[]): Result<RequestArguments['body'], string> {
  const body: Record<string, unknown> = {};
  for (const word of words) {
    const fieldText = fieldFor(command, word, body);
    if (!fieldText.ok) return fieldText;
    const { field, text } = fieldText.value;
    const isToggle = words.length === 1 && text.toLowerCase() === TOGGLE_WORD;
    // Without a body the operation toggles.
    if (command.toggles && isToggle) return success(undefined);
    const value = fieldValue(field, text);
    if (!value.ok) return failed(`${field.name}: ${value.error}`);
    body[field.name] = value.value;
  }
  const missingAlternatives = command.required.find(
    (alternatives) => !alternatives.some((name) => Object.hasOwn(body, name)),
  );
  if (missingAlternatives !== undefined) return failed(`${missingAlternatives.join(' or ')} is missing`);
  return success(words.length === 0 ? undefined : body);
}

interface FieldText {
  readonly field: CommandField;
  readonly text: string;
}

/** The field that a word is for, and the text of its value. */
function fieldFor(command: CtlCommand, word: string, body: object): Result<FieldText, string> {
  const [, name = '', value = ''] = NAMED_WORD.exec(word) ?? [];
  const namedField = command.fields.find((field) => field.name === name);
  if (namedField !== undefined) {
    // `volume=+5%` sets `delta`, as the word `+5%` does. So a value that does not fit the named field may fit
    // an alternative to this field.
    const alternatives = alternativesIncluding(command, name);
    const field = [namedField, ...command.fields].find(
      (candidate) => alternatives.includes(candidate.name) && fitsField(candidate, value),
    );
    // A value without a sign fits each field, so this value has a sign.
    if (field === undefined) return failed(signRefusal(namedField, value));
    if (Object.hasOwn(body, field.name)) return failed(`${field.name} is there twice`);
    if (!isFreeField(command, field.name, body))
      return failed(`only one of ${alternatives.join(' and ')} is possible`);
    return success({ field, text: value });
  }
  // The word names no field of this command.
  const freeFields = command.fields.filter((field) => isFreeField(command, field.name, body));
  const next = freeFields.find((field) => fitsField(field, word));
  // `name` is empty if the word does not have the form `field=value`. A word of this form can be the value of
  // a text field, but of no other field.
  const isWholeValue = name === '' || next?.type === 'string';
  if (next !== undefined && isWholeValue) return success({ field: next, text: word });
  const [firstFree] = freeFields;
  // If `name` is empty here, the word fits no free field, so the word has a sign.
  if (name === '' && firstFree !== undefined) return failed(signRefusal(firstFree, word));
  const names = command.fields.map((field) => field.name);
  const fieldsText = names.length === 0 ? 'no fields' : `the fields ${names.join(', ')}`;
  return failed(`${quoted(word)} is too much: it takes ${fieldsText}`);
}

const signRefusal = ({ name }: CommandField, value: string): string =>
  `${name}: ${quoted(value)} must have no sign`;

/** True if neither the field nor an alternative to it has a value yet. */
function isFreeField(command: CtlCommand, name: string, body: object): boolean {
  return !alternativesIncluding(command, name).some((alternative) => Object.hasOwn(body, alternative));
}

/** The names of the field and of its alternatives. A request may have only one of these fields. */
function alternativesIncluding({ required }: CtlCommand, name: string): readonly string[] {
  return required.find((names) => names.includes(name)) ?? [name];
}

/**
 * A word with a sign is a change: `+5%` is a `delta`. Such a word does not fit a number field whose value
 * cannot be negative. Otherwise every word fits.
 */
function fitsField({ type, minimum = Number.NEGATIVE_INFINITY }: CommandField, word: string): boolean {
  return type === 'string' || minimum < 0 || !SIGNED_WORD.test(word);
}

function fieldValue(field: CommandField, text: string): Result<unknown, string> {
  if (field.type === 'boolean') return switchIn(text);
  if (field.type !== 'string') return numberValue(field, text);
  const { values } = field;
  if (values === undefined) return success(text);
  const value = values.find((allowed) => allowed.toLowerCase() === text.toLowerCase());
  return value === undefined ? failed(`${quoted(text)} is not one of ${values.join(', ')}`) : success(value);
}

function switchIn(text: string): Result<boolean, string> {
  const value = SWITCH_WORDS.get(text.toUpperCase()) ?? BOOLEANS.get(text);
  return value === undefined ? failed(`${quoted(text)} is neither on nor off`) : success(value);
}

function numberValue({ description = '' }: CommandField, text: string): Result<number, string> {
  // In schemas.ts, the description of each field with a time in microseconds begins with this unit.
  const time = description.startsWith('microseconds') ? TIME.exec(text) : null;
  const [, numeral = text, unit = ''] = time ?? [];
  // `numberIn` accepts no plus sign, so the plus sign is removed. It stays in `+-5`, which is no number.
  const value = numberIn(numeral.replace(/^\+(?!-)/, ''));
  if (value === undefined) return failed(`${quoted(text)} is no number`);
  const factor = MICROSECONDS.get(unit);
  return success(factor === undefined ? value : Math.round(value * factor));
}

const quoted = (text: string): string => JSON.stringify(text);
