// Reads the configuration again while the service runs (docs/configuration.md, "Reloading"): a wrong one
// changes nothing; else each part takes its changed settings, and only the children whose settings have
// changed begin anew. It knows of the parts only that they take settings.

import { errorText } from '../printable.js';
import type { ChildName } from '../protocol/actor/backends.js';
import type { Log } from '../protocol/actor/messages.js';
import type { Settings } from '../protocol/actor/settings.js';
import { KEYS, type KeyValues, pathsIn, settingsOf } from './config/keys.js';
import type { LoadResult } from './config/load.js';

/** Keys whose values are taken only at the start. */
const NEED_RESTART: readonly string[] = ['api.port', 'api.sse.maxClients'];

export interface ReloadParts {
  readonly load: () => Promise<LoadResult>;
  readonly log: Log;
  readonly setLogLevel: (level: Settings['logLevel']) => void;
  /** Each child whose settings have changed must stop before the gateway takes them, and start after that. */
  readonly supervisor: {
    stopChanged(settings: Settings): Promise<readonly ChildName[]>;
    startMissing(): void;
  };
  readonly gateway: { reconfigure(settings: Settings, stopped: readonly ChildName[]): void };
  /** Called when nothing more is to be read. */
  readonly done: () => void;
}

/** One reading at a time: a request that comes meanwhile makes one more follow. */
export class Reload {
  readonly #parts: ReloadParts;
  readonly #atStart: KeyValues;
  #inForce: KeyValues;
  #isReading = false;
  #isRequested = false;

  /** `values` are those that the service was started with. */
  constructor(parts: ReloadParts, values: KeyValues) {
    this.#parts = parts;
    this.#atStart = values;
    this.#inForce = values;
  }

  /** Returns at once; the log says how it went. */
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
    this.#parts.done();
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
    const settings = settingsOf(withStartKeys(values, this.#atStart));
    const changed = changedKeys(this.#inForce, values).filter((key) => !NEED_RESTART.includes(key));
    this.#inForce = values;
    const restarted = await this.#take(settings);
    for (const key of changedKeys(this.#atStart, values))
      if (NEED_RESTART.includes(key)) log('warn', `${key} takes effect with the next start`);
    log('info', 'the configuration was read again', {
      changed: changed.join(' ') || 'nothing',
      ...(restarted.length > 0 && { restarted: restarted.join(' ') }),
    });
  }

  async #take(settings: Settings): Promise<readonly ChildName[]> {
    const { setLogLevel, supervisor, gateway } = this.#parts;
    setLogLevel(settings.logLevel);
    const restarted = await supervisor.stopChanged(settings);
    gateway.reconfigure(settings, restarted);
    supervisor.startMissing();
    return restarted;
  }
}

/** The values with those of `NEED_RESTART` as they are in force: parts of the service depend on them, too. */
function withStartKeys(values: KeyValues, atStart: KeyValues): KeyValues {
  const { port, sse } = atStart.api;
  return { ...values, api: { ...values.api, port, sse: { ...values.api.sse, maxClients: sse.maxClients } } };
}

/** The keys with another value, by dotted path. */
function changedKeys(before: KeyValues, after: KeyValues): readonly string[] {
  const paths = pathsIn(KEYS);
  const isSection = (path: string): boolean => paths.some((other) => other.startsWith(`${path}.`));
  const valueIn = (values: KeyValues, path: string): string | undefined =>
    JSON.stringify(valueAt(values, path));
  return paths.filter((path) => !isSection(path) && valueIn(before, path) !== valueIn(after, path));
}

function valueAt(values: KeyValues, path: string): unknown {
  return path.split('.').reduce<unknown>((section, name) => Reflect.get(Object(section), name), values);
}
