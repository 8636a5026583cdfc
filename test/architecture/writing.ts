// The rules of how sources are written: no literal is spread into another literal, comments are no wider than
// code, names have no vague words, titles of tests have a subject, state is in classes, and a comment with a
// measurement says where the measurement is.

import { lineAt, type SourceFile } from './source-file.js';

type Check = (files: readonly SourceFile[]) => readonly string[];

/** The formatter's width (`biome.json`). */
const WIDTH_COLUMNS = 110;

/**
 * Words that could mean anything. Write `pending` or `published` instead of `held`, `received` instead of
 * `heard`, `desired` instead of `wanted` (ARCHITECTURE.md, "Glossary").
 */
const VAGUE = [
  'told held given shown asked wanted seen heard said say says',
  'look looks looked does happen happens happened happening',
  'utterance utterances distrust scene trouble troubles',
].flatMap((words) => words.split(' '));

/** Names that others have chosen: an error of BlueZ (`BLUEZ_ERRORS`), and three functions of node:assert. */
const FOREIGN = ['doesNotExist', 'doesNotMatch', 'doesNotReject', 'doesNotThrow'];

const wordsOf = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_]+/);

const isVague = (name: string): boolean =>
  !FOREIGN.includes(name) && wordsOf(name).some((word) => VAGUE.includes(word));

const complaints = (
  file: SourceFile,
  found: readonly { readonly start: number }[],
  why: (start: number) => string,
): readonly string[] => found.map(({ start }) => `${file.path}:${lineAt(file.text, start)}: ${why(start)}`);

const writtenOut: Check = (files) =>
  files.flatMap((file) =>
    complaints(file, file.squeezed, () => 'write it out: `...[a, b]` in a literal, or `[a, b] = [c, d]`'),
  );

const commentWidth: Check = (files) =>
  files.flatMap((file) => {
    const lines = file.text.split('\n');
    const isTooWide = (line: number): boolean => (lines[line - 1] ?? '').length > WIDTH_COLUMNS;
    return file.comments.flatMap(({ start, end }) => {
      const firstLine = lineAt(file.text, start);
      const lineCount = file.text.slice(start, end).split('\n').length;
      const commentLines = Array.from({ length: lineCount }, (_, offset) => firstLine + offset);
      return commentLines
        .filter(isTooWide)
        .map((line) => `${file.path}:${line}: a comment has at most ${WIDTH_COLUMNS} columns`);
    });
  });

const wordsOfTheField: Check = (files) =>
  files.flatMap((file) => {
    const vague = file.names.filter(({ name }) => isVague(name));
    return complaints(file, vague, (start) => {
      // A private name is printed with its `#`.
      const writtenName = /^#?\w+/.exec(file.text.slice(start))?.[0];
      return `${writtenName}: could mean anything; the glossary of ARCHITECTURE.md has words`;
    });
  });

/** A title that begins with such a word has no subject, so nobody understands it without the file. */
const NO_SUBJECT = /^(?:what|who|whose|whoever|whatever|of|how|so|that|and|not)\b/i;

const titlesHaveSubjects: Check = (files) =>
  files.flatMap((file) => {
    const withoutSubject = file.titles.filter(({ text }) => NO_SUBJECT.test(text));
    return complaints(file, withoutSubject, () => 'a title is a sentence with a subject');
  });

/** A remark in brackets that begins or ends with `measured`. It rarely says where the measurement is. */
const UNNAMED_MEASUREMENT = /\(measured\b|\bmeasured\)/;

const measurementsAreNamed: Check = (files) =>
  files.flatMap((file) => {
    const unnamed = file.comments.filter(({ start, end }) =>
      UNNAMED_MEASUREMENT.test(file.text.slice(start, end)),
    );
    return complaints(file, unnamed, () => 'name the file or the section that has the measurement');
  });

const stateInClasses: Check = (files) =>
  files.flatMap((file) =>
    complaints(
      file,
      file.closures,
      () => 'a returned function uses a `let` of the function around it: state belongs in a class',
    ),
  );

export const WRITING = {
  'state is in classes': stateInClasses,
  'literals are written out': writtenOut,
  'measurements are named': measurementsAreNamed,
  'comments end where code ends': commentWidth,
  'names are words of the field': wordsOfTheField,
  'titles have a subject': titlesHaveSubjects,
} as const satisfies Record<string, Check>;
