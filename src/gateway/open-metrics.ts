// Encodes metrics as the text of OpenMetrics 1.0. Pure.

export interface Sample {
  /** The end that the metric's name gets, such as `_bucket`; by default the end that the type demands. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export interface Metric {
  /** In Prometheus' form, without `_total` and `_info`; the unit, if there is one, is its end. */
  readonly name: string;
  readonly type: keyof typeof SUFFIXES;
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** By type, the end of the names of samples. */
const SUFFIXES = { gauge: '', counter: '_total', info: '_info', histogram: '' } as const;

const UNITS = ['seconds', 'bytes', 'ratio'];

/** A metric without samples is left out. */
export function openMetricsText(metrics: readonly Metric[]): string {
  const families = metrics.filter(({ samples }) => samples.length > 0).map(familyText);
  return `${families.join('')}# EOF\n`;
}

function familyText({ name, type, help, samples }: Metric): string {
  const unit = UNITS.find((each) => name.endsWith(`_${each}`));
  const head = [
    `# TYPE ${name} ${type}`,
    ...(unit === undefined ? [] : [`# UNIT ${name} ${unit}`]),
    `# HELP ${name} ${escaped(help)}`,
  ];
  const lines = samples.map(
    ({ suffix = SUFFIXES[type], labels = {}, value }) =>
      `${name}${suffix}${labelText(labels)} ${numberText(value)}`,
  );
  return `${[...head, ...lines].join('\n')}\n`;
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
