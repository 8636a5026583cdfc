// Reads the configuration again while the service runs (docs/configuration.md, "Reloading"), and decides
// what changes. If the configuration is wrong, nothing changes. Otherwise every part takes its settings, and
// the children whose settings differ start anew. This file knows nothing else of the parts.

import { errorText } from '../printable.js';
import type { ChildName } from '../protocol/actor/backends.js';
import type { Log } from '../protocol/actor/messages.js';
import type { Settings } from '../protocol/actor/settings.js';
import { KEYS, type KeyValues, pathsIn, settingsOf } from './config/keys.js';
import type { LoadResult } from './config/load.js';

/** Keys whose values are taken only at the start. `withStartKeys` must have the same keys. */
const NEED_RESTART: readonly string[] = ['api.port', 'api.sse.maxClients'];

export interface ReloadParts {
  readonly load: () => Promise<LoadResult>;
  readonly log: Log;
  readonly setLogLevel: (level: Settings['logLevel']) => void;
  /**
   * A child whose settings differ is stopped before the gateway takes the settings, and started after that.
   */
  readonly supervisor: {
    stopChanged(settings: Settings): Promise<readonly ChildName[]>;
    startMissing(): void;
  };
  readonly gateway: { reconfigure(settings: Settings, stopped: readonly ChildName[]): void };
  /** Called when the last requested reading has ended, whether it succeeded or not. */
  readonly onDone: () => void;
}

/** Reads one at a time. All requests that come during a reading make one more reading follow. */
export class Reload {
  readonly #parts: ReloadParts;
  readonly #valuesAtStart: KeyValues;
  #lastValues: KeyValues;
  #isReading = false;
  #isRequested = false;

  /** `values` are those that the service was started with. */
  constructor(parts: ReloadParts, values: KeyValues) {
    this.#parts = parts;
    this.#valuesAtStart = values;
    this.#lastValues = values;
  }

  /** Returns at once. The result of the reading is in the log only. */
  request(): void {
    this.#isRequested = true;
    if (!this.#isReading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#isRequested) {
      this.#isRequested = false;
      await this.#read().catch((error: unknown) =>
        this.#parts.log('error', 'the configuration could not be read again', { reason: errorText(error) }),
      );
    }
    this.#isReading = false;
    this.#parts.onDone();
  }

  async #read(): Promise<void> {
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
    const changed = changedKeys(this.#lastValues, values).filter((key) => !NEED_RESTART.includes(key));
    this.#lastValues = values;
    const restarted = await this.#apply(settings);
    for (const key of changedKeys(this.#valuesAtStart, values))
      if (NEED_RESTART.includes(key)) log('warn', `${key} takes effect with the next start`);
    log('info', 'the configuration was read again', {
      changed: changed.join(' ') || 'nothing',
      ...(restarted.length > 0 && { restarted: restarted.join(' ') }),
    });
  }

  /** Returns the names of the children that were stopped to take the settings. */
  async #apply(settings: Settings): Promise<readonly ChildName[]> {
    const { setLogLevel, supervisor, gateway } = this.#parts;
    setLogLevel(settings.logLevel);
    const restarted = await supervisor.stopChanged(settings);
    gateway.reconfigure(settings, restarted);
    supervisor.startMissing();
    return restarted;
  }
}

/** The values, except that the keys of `NEED_RESTART` have their values of the start. */
function withStartKeys(values: KeyValues, valuesAtStart: KeyValues): KeyValues {
  const { port, sse } = valuesAtStart.api;
  const sseOfBoth = { ...values.api.sse, maxClients: sse.maxClients };
  return { ...values, api: { ...values.api, port, sse: sseOfBoth } };
}

/** The dotted paths of the keys whose values differ. */
function changedKeys(before: KeyValues, after: KeyValues): readonly string[] {
  const paths = pathsIn(KEYS);
  const isSection = (path: string): boolean => paths.some((other) => other.startsWith(`${path}.`));
  return paths.filter((path) => !isSection(path) && jsonAt(before, path) !== jsonAt(after, path));
}

/** The JSON text of a key's value; undefined if the key has no value. */
function jsonAt(values: KeyValues, path: string): string | undefined {
  let value: unknown = values;
  for (const name of path.split('.')) value = Reflect.get(Object(value), name);
  return JSON.stringify(value);
}
