// Makes the columns of a table from what was measured: medians, ratios, spreads, and whether a goal is
// reached. Pure.

import { median, quantile } from './figures.js';

/** The goal of a row: a bound on the comparison, or with `of` on the result itself. */
interface Goal {
  readonly of?: 'result';
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** One thing that was measured, a figure per round. */
export interface Row {
  readonly what: string;
  /** The unit of each figure, such as `ms`. */
  readonly unit: string;
  readonly samples: readonly number[];
  /** The figures to compare with, measured in the same turns. */
  readonly against?: { readonly what: string; readonly samples: readonly number[] };
  /** Ours divided by theirs unless given. */
  readonly compare?: 'ours / theirs' | 'theirs / ours' | 'ours - theirs';
  readonly goal?: Goal;
}

/** A median, and the middle half around it. */
interface Figure {
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
  /** The comparison with `against`, where there is one: a ratio or a difference. */
  readonly ratio?: Figure;
  readonly difference?: Figure;
  readonly goal?: string;
  readonly reached?: boolean;
}

const MIDDLE_HALF = [0.25, 0.75] as const;
const SIGNIFICANT_DIGITS = 3;

function figureOf(samples: readonly number[]): Figure {
  return {
    median: median(samples),
    from: quantile(samples, MIDDLE_HALF[0]),
    to: quantile(samples, MIDDLE_HALF[1]),
  };
}

type Compare = (ours: number, theirs: number) => number;

const COMPARE: Readonly<Record<NonNullable<Row['compare']>, Compare>> = {
  'ours / theirs': (ours, theirs) => ours / theirs,
  'theirs / ours': (ours, theirs) => theirs / ours,
  'ours - theirs': (ours, theirs) => ours - theirs,
};

/**
 * Compares round by round if both have the same number of rounds, because other load on the machine disturbs
 * both.
 */
function compared(ours: readonly number[], theirs: readonly number[], compare: Compare): Figure {
  if (ours.length !== theirs.length) return figureOf([compare(median(ours), median(theirs))]);
  return figureOf(ours.map((value, round) => compare(value, theirs[round] ?? Number.NaN)));
}

export function resultOf({ what, unit, samples, against, compare = 'ours / theirs', goal }: Row): Result {
  const result = figureOf(samples);
  const comparison = against && compared(samples, against.samples, COMPARE[compare]);
  const isDifference = compare === 'ours - theirs';
  const isGoalOfResult = goal?.of === 'result';
  return {
    what,
    unit,
    result,
    ...(against && { against: { what: against.what, result: figureOf(against.samples) } }),
    ...(comparison && (isDifference ? { difference: comparison } : { ratio: comparison })),
    ...(goal &&
      judged(goal, isGoalOfResult ? result : comparison, {
        unit: isGoalOfResult || isDifference ? unit : 'x',
        sign: isDifference && !isGoalOfResult ? '+' : '',
      })),
  };
}

function judged(
  { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }: Goal,
  figure: Figure | undefined,
  { unit, sign }: { readonly unit: string; readonly sign: string },
): Pick<Result, 'goal' | 'reached'> {
  const bound = Number.isFinite(atMost) ? `<= ${sign}${atMost}` : `>= ${sign}${atLeast}`;
  const value = figure?.median ?? Number.NaN;
  return { goal: `${bound} ${unit}`, reached: value <= atMost && value >= atLeast };
}

/** A number with three digits, because measurements are not more precise; from 1000 on, a whole number. */
function printed(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return Math.abs(value) >= 10 ** SIGNIFICANT_DIGITS
    ? String(Math.round(value))
    : String(Number(value.toPrecision(SIGNIFICANT_DIGITS)));
}

/** The columns of a row, for the table of `npm run bench` and for that of RESULTS.md. */
export function columns(row: Result): Readonly<Record<string, string>> {
  const { what, unit, result, against, ratio, difference, goal, reached } = row;
  const { from, to } = ratio ?? difference ?? result;
  const signed = difference && `${difference.median < 0 ? '' : '+'}${printed(difference.median)} ${unit}`;
  return {
    what,
    against: against ? `${against.what}: ${printed(against.result.median)} ${unit}` : '',
    result: `${printed(result.median)} ${unit}`,
    ratio: ratio ? `${printed(ratio.median)} x` : (signed ?? ''),
    spread: from === to ? '' : `${printed(from)} to ${printed(to)}`,
    goal: reached === false ? `${goal}: missed` : (goal ?? ''),
  };
}
