// Renders templates as Home Assistant does: by Jinja2, and with blanks removed at both ends of the result.
// Also decides, by AwesomeVersion, whether Home Assistant offers an update from one version to another.

import { execFileSync } from 'node:child_process';

const PYTHON_NAME = 'python3';
/** Debian's Python, because another Python on the machine does not see Debian's packages. */
const PYTHON = `/usr/bin/${PYTHON_NAME}`;
const PACKAGES = '/usr/lib/python3/dist-packages';
const DEADLINE_MS = 60_000;

export const TEMPLATES_NEED = {
  programs: [PYTHON_NAME],
  packages: {
    'python3-jinja2': `${PACKAGES}/jinja2/__init__.py`,
    'python3-awesomeversion': `${PACKAGES}/awesomeversion/__init__.py`,
  },
};

/**
 * `is_offered` follows `UpdateEntity.state` in homeassistant/components/update/__init__.py.
 * `float_filter` is Home Assistant's filter `float`. It fails for a text that is no number, unless the
 * template names a default. Jinja2's own filter `float` never fails.
 */
const PROGRAM = `
import json, sys
from datetime import datetime, timezone
from jinja2.sandbox import ImmutableSandboxedEnvironment
from awesomeversion import AwesomeVersion, AwesomeVersionCompareException

environment = ImmutableSandboxedEnvironment()
environment.globals["version"] = lambda text: AwesomeVersion(text)
environment.globals["now"] = lambda: datetime.now(timezone.utc)
environment.filters["to_json"] = json.dumps

def as_timestamp(time):
    return (time if isinstance(time, datetime) else datetime.fromisoformat(time.replace("Z", "+00:00"))).timestamp()

environment.globals["as_timestamp"] = as_timestamp

def float_filter(value, *default):
    try:
        return float(value)
    except (TypeError, ValueError):
        if not default:
            raise
        return default[0]

environment.filters["float"] = float_filter

def render(template, value):
    return environment.from_string(template).render(value_json=value).strip()

def is_offered(installed, latest):
    if installed == latest:
        return False
    try:
        return bool(AwesomeVersion(latest) > installed)
    except AwesomeVersionCompareException:
        return True

functions = {"render": render, "is_offered": is_offered}
print(json.dumps([functions[name](*args) for name, *args in json.load(sys.stdin)]))
`;

type Question =
  | readonly [name: 'render', template: unknown, value: unknown]
  | readonly [name: 'is_offered', installed: unknown, latest: unknown];

function askPython(questions: readonly Question[]): readonly unknown[] {
  const input = JSON.stringify(questions);
  return JSON.parse(execFileSync(PYTHON, ['-c', PROGRAM], { input, timeout: DEADLINE_MS, encoding: 'utf8' }));
}

/** Returns the template's text for each value. A value is the parsed JSON of a payload. */
export function rendered(template: unknown, values: readonly unknown[]): readonly string[] {
  return askPython(values.map((value) => ['render', template, value])).map(String);
}

/** For each pair of versions: true if Home Assistant offers an update. */
export function areOffered(
  versions: readonly (readonly [installed: unknown, latest: unknown])[],
): readonly boolean[] {
  return askPython(versions.map(([installed, latest]) => ['is_offered', installed, latest])).map(Boolean);
}
