// From what was measured to what is shown: medians, ratios, spreads and whether a goal is reached; as a table for people, and as
// the table of RESULTS.md. Pure.

import { median, quantile } from './figures.js';

/** What design or sense asks for; of the ratio unless it says otherwise. */
export interface Goal {
  readonly of?: 'result';
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** One thing that was measured, a figure per round. */
export interface Row {
  readonly what: string;
  /** Of each figure, such as `ms`. */
  readonly unit: string;
  readonly taken: readonly number[];
  /** What it is compared with, measured in the same turns. */
  readonly against?: { readonly what: string; readonly taken: readonly number[] };
  /** How many times theirs is ours, unless given: ours divided by theirs. */
  readonly ratio?: 'theirs / ours';
  readonly goal?: Goal;
}

/** A median, and the middle half around it. */
export interface Figure {
  readonly median: number;
  readonly from: number;
  readonly to: number;
}

/** A row as `--json` prints it. */
export interface Result {
  readonly what: string;
  readonly unit: string;
  readonly result: Figure;
  readonly against?: { readonly what: string; readonly result: Figure };
  readonly ratio?: Figure;
  readonly goal?: string;
  readonly reached?: boolean;
}

const MIDDLE_HALF = [0.25, 0.75] as const;
const SIGNIFICANT_DIGITS = 3;

function figureOf(taken: readonly number[]): Figure {
  return {
    median: median(taken),
    from: quantile(taken, MIDDLE_HALF[0]),
    to: quantile(taken, MIDDLE_HALF[1]),
  };
}

/** Round by round where there are as many of each: what disturbs the machine disturbs both. */
function ratios(ours: readonly number[], theirs: readonly number[]): readonly number[] {
  if (ours.length !== theirs.length) return [median(ours) / median(theirs)];
  return ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
}

export function resultOf({ what, unit, taken, against, ratio: direction, goal }: Row): Result {
  const pair = against === undefined ? undefined : { ours: taken, theirs: against.taken };
  const ratio =
    pair === undefined
      ? undefined
      : figureOf(direction === undefined ? ratios(pair.ours, pair.theirs) : ratios(pair.theirs, pair.ours));
  const result = figureOf(taken);
  return {
    what,
    unit,
    result,
    ...(against === undefined ? {} : { against: { what: against.what, result: figureOf(against.taken) } }),
    ...(ratio === undefined ? {} : { ratio }),
    ...(goal === undefined ? {} : judged(goal, goal.of === 'result' ? result : ratio, unit)),
  };
}

/** A goal without what it speaks of, such as a ratio to something that is not there, is told and not judged. */
function judged(
  { of, atMost, atLeast }: Goal,
  figure: Figure | undefined,
  unit: string,
): Pick<Result, 'goal' | 'reached'> {
  const suffix = of === 'result' ? ` ${unit}` : ' x';
  const goal = atMost === undefined ? `>= ${atLeast}${suffix}` : `<= ${atMost}${suffix}`;
  if (figure === undefined) return { goal };
  const { median: value } = figure;
  return { goal, reached: value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? 0) };
}

/** Three digits say all that a measurement knows. */
function shown(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return Math.abs(value) >= 10 ** SIGNIFICANT_DIGITS
    ? String(Math.round(value))
    : String(Number(value.toPrecision(SIGNIFICANT_DIGITS)));
}

/** Of the ratio where there is one. */
function spread({ result, ratio }: Result): string {
  const { from, to } = ratio ?? result;
  return from === to ? '' : `${shown(from)} to ${shown(to)}`;
}

function goal({ goal: text, reached }: Result): string {
  if (text === undefined) return '';
  return reached === false ? `${text}: missed` : text;
}

/** The columns of both tables. */
export function columns(result: Result): Readonly<Record<string, string>> {
  const { against, unit, ratio } = result;
  return {
    what: result.what,
    against: against === undefined ? '' : `${against.what}: ${shown(against.result.median)} ${unit}`,
    result: `${shown(result.result.median)} ${unit}`,
    ratio: ratio === undefined ? '' : `${shown(ratio.median)} x`,
    spread: spread(result),
    goal: goal(result),
  };
}

/** A table of Markdown. */
export function markdown(results: readonly Result[]): string {
  const rows = results.map(columns);
  const names = ['what', 'against', 'result', 'ratio', 'spread', 'goal'];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  const rule = line(names.map(() => '---'));
  return line(names) + rule + rows.map((row) => line(names.map((name) => row[name] ?? ''))).join('');
}
