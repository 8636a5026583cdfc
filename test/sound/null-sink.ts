// Makes a null sink of a sound server, for a test.

import { until } from '../until.js';
import { list, pactl } from './pactl.js';
import type { Environment } from './program.js';

export interface SinkSpec {
  readonly name: string;
  /** By default this is the name. A description must not have quotes, because `sinkArguments` quotes it. */
  readonly description?: string;
}

/**
 * The single quotes enclose the list of properties, and the double quotes enclose the value of one property.
 */
function sinkArguments({ name, description = name }: SinkSpec): string[] {
  return [`sink_name=${name}`, `sink_properties='device.description="${description}"'`];
}

/**
 * Resolves when the sink is listed. While the daemon makes a group, a stand-in may have the sink's name for
 * some milliseconds. PulseAudio then gives the sink another name, so the sink is loaded again.
 */
export async function loadNullSink(env: Environment, sink: SinkSpec): Promise<void> {
  const module = (await pactl(env, 'load-module', 'module-null-sink', ...sinkArguments(sink))).trim();
  const loaded = await until(`sink ${sink.name} is listed`, async () => {
    const sinks = await list(env, 'sinks');
    return sinks.find(({ owner_module }) => `${owner_module}` === module) ?? false;
  });
  if (loaded.name === sink.name) return;
  await pactl(env, 'unload-module', module);
  await loadNullSink(env, sink);
}
