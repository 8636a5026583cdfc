// Reads the configuration again while the daemon runs (docs/configuration.md, "Reloading"), and decides which
// changed keys take effect at once. The supervisor decides which children stop and start.

import { errorText } from '../printable.js';
import type { ChildName } from '../protocol/actor/backends.js';
import type { Log, LogFields } from '../protocol/actor/messages.js';
import type { Settings } from '../protocol/actor/settings.js';
import { KEYS, type KeyValues, pathsIn, settingsOf } from './config/keys.js';
import type { LoadResult } from './config/load.js';

/** New values of these keys take effect only at the next start. `withStartKeys` must have the same keys. */
const NEED_RESTART: readonly string[] = ['api.port', 'api.sse.maxClients'];

export interface ReloadParts {
  readonly load: () => Promise<LoadResult>;
  readonly log: Log;
  readonly setLogLevel: (level: Settings['logLevel']) => void;
  /** `gateway.reconfigure` is called after `stopChanged` and before `startMissing`. */
  readonly supervisor: {
    stopChanged(settings: Settings): Promise<readonly ChildName[]>;
    startMissing(): readonly ChildName[];
  };
  readonly gateway: { reconfigure(settings: Settings, stopped: readonly ChildName[]): void };
  /** Called when all requested readings have ended or failed. `systemctl reload` waits for this call. */
  readonly onDone: () => void;
}

/** Only one reading runs at a time. All requests during a reading cause one further reading together. */
export class Reload {
  readonly #parts: ReloadParts;
  readonly #valuesAtStart: KeyValues;
  #lastValues: KeyValues;
  #isReading = false;
  #isRequested = false;

  constructor(parts: ReloadParts, valuesAtStart: KeyValues) {
    this.#parts = parts;
    this.#valuesAtStart = valuesAtStart;
    this.#lastValues = valuesAtStart;
  }

  /** Returns at once. The result is only in the log. */
  request(): void {
    this.#isRequested = true;
    if (!this.#isReading) void this.#readWhileRequested();
  }

  async #readWhileRequested(): Promise<void> {
    this.#isReading = true;
    while (this.#isRequested) {
      this.#isRequested = false;
      await this.#readOnce().catch((error: unknown) =>
        this.#parts.log('error', 'the configuration could not be read again', { reason: errorText(error) }),
      );
    }
    this.#isReading = false;
    this.#parts.onDone();
  }

  async #readOnce(): Promise<void> {
    const { load, log } = this.#parts;
    const loaded = await load();
    const { warnings } = loaded.ok ? loaded.value : loaded.error;
    for (const warning of warnings) log('warn', warning);
    if (!loaded.ok) {
      for (const problem of loaded.error.problems) log('error', problem);
      log('error', 'the configuration is wrong: nothing was changed');
      return;
    }
    const { values } = loaded.value;
    const settings = settingsOf(withStartKeys(values, this.#valuesAtStart));
    // `changed` has the keys whose values differ from the last valid reading, without the keys of
    // `NEED_RESTART`. The loop below compares the keys of `NEED_RESTART` with their values at the start, so
    // that each later reading repeats the warning.
    const changed = changedKeys(this.#lastValues, values).filter((key) => !NEED_RESTART.includes(key));
    this.#lastValues = values;
    const childFields = await this.#apply(settings);
    for (const key of changedKeys(this.#valuesAtStart, values))
      if (NEED_RESTART.includes(key)) log('warn', `${key} takes effect with the next start`);
    const changedText = changed.length > 0 ? changed.join(' ') : 'nothing';
    log('info', 'the configuration was read again', { changed: changedText, ...childFields });
  }

  /** Returns log fields with the names of the children that were stopped or started. */
  async #apply(settings: Settings): Promise<LogFields> {
    const { setLogLevel, supervisor, gateway } = this.#parts;
    setLogLevel(settings.logLevel);
    const stopped = await supervisor.stopChanged(settings);
    gateway.reconfigure(settings, stopped);
    return childFieldsOf(stopped, supervisor.startMissing());
  }
}

/** A child in both `stopped` and `started` counts as restarted. A field without children is left out. */
function childFieldsOf(stopped: readonly ChildName[], started: readonly ChildName[]): LogFields {
  const namesByField = {
    restarted: stopped.filter((name) => started.includes(name)),
    started: started.filter((name) => !stopped.includes(name)),
    stopped: stopped.filter((name) => !started.includes(name)),
  };
  const fieldsWithNames = Object.entries(namesByField).filter(([, names]) => names.length > 0);
  return Object.fromEntries(fieldsWithNames.map(([field, names]) => [field, names.join(' ')]));
}

/** Returns `values`, but the keys of `NEED_RESTART` have their values of `valuesAtStart`. */
function withStartKeys(values: KeyValues, valuesAtStart: KeyValues): KeyValues {
  const { port } = valuesAtStart.api;
  const sse = { ...values.api.sse, maxClients: valuesAtStart.api.sse.maxClients };
  return { ...values, api: { ...values.api, port, sse } };
}

/** The dotted paths of the keys whose values differ. */
function changedKeys(before: KeyValues, after: KeyValues): readonly string[] {
  const paths = pathsIn(KEYS);
  const isSection = (path: string): boolean => paths.some((other) => other.startsWith(`${path}.`));
  return paths.filter((path) => !isSection(path) && jsonOfKey(before, path) !== jsonOfKey(after, path));
}

/**
 * Returns undefined if the key has no value. `Object(value)` returns the object `value` itself, with a type
 * that `Reflect.get` accepts.
 */
function jsonOfKey(values: KeyValues, path: string): string | undefined {
  let value: unknown = values;
  for (const name of path.split('.')) value = Reflect.get(Object(value), name);
  return JSON.stringify(value);
}
