// Encodes metrics as the text of OpenMetrics 1.0. Pure.

export interface Sample {
  /** The end of the sample's name, such as `_bucket`. `SUFFIXES` has the default. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export interface Metric {
  /**
   * The name does not include the suffix of a sample, such as `_total` or `_info`. If the metric has a unit,
   * the name ends with the unit, such as `_seconds`.
   */
  readonly name: string;
  readonly type: keyof typeof SUFFIXES;
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** The default suffix of samples, by type. */
const SUFFIXES = { gauge: '', counter: '_total', info: '_info', histogram: '' } as const;

const UNITS = ['seconds', 'bytes', 'ratio'];

/** A metric without samples is left out. */
export function openMetricsText(metrics: readonly Metric[]): string {
  const texts = metrics.filter(({ samples }) => samples.length > 0).map(metricText);
  return `${texts.join('')}# EOF\n`;
}

function metricText({ name, type, help, samples }: Metric): string {
  const unit = UNITS.find((candidate) => name.endsWith(`_${candidate}`));
  const lines = [`# TYPE ${name} ${type}`];
  if (unit !== undefined) lines.push(`# UNIT ${name} ${unit}`);
  lines.push(`# HELP ${name} ${escaped(help)}`);
  for (const { suffix = SUFFIXES[type], labels = {}, value } of samples)
    lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}`);
  return `${lines.join('\n')}\n`;
}

function labelText(labels: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
