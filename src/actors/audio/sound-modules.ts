// Loads the daemon's modules into the sound server, and unloads them. group-modules.ts and listen-modules.ts
// decide which modules the server must have.

import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { Reply, RequestArgs, RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError, RequestResult } from '../../protocol/pulse/outcome.js';
import type { ModuleInfo } from '../../protocol/pulse/records.js';

/** Sends a request to the sound server, and resolves with its result. */
export type Ask = <C extends RequestName>(
  command: C,
  args: RequestArgs<C>,
) => Promise<RequestResult<Reply<C>>>;

/** The arguments of LOAD_MODULE. */
export interface ModuleLoad {
  readonly name: string;
  readonly argument: string;
}

/**
 * Resolves with the loaded module, or with the reason of the failure. `used` and `props` stay empty, because
 * `isSameModule` does not compare them.
 */
export async function loadModule(ask: Ask, load: ModuleLoad): Promise<Result<ModuleInfo, string>> {
  const loaded = await ask('LOAD_MODULE', load);
  if (!loaded.ok) return failed(describeFailure(loaded.error));
  const { index } = loaded.value;
  return success({ index, name: load.name, argument: load.argument, used: undefined, props: {} });
}

/**
 * Resolves with undefined if the module is gone, else with the reason why it stays. PipeWire gives the index
 * of an unloaded module to the next module that is loaded. So the module at the index is read first, and is
 * unloaded only if it is `module`.
 */
export async function unloadModule(ask: Ask, module: ModuleInfo): Promise<string | undefined> {
  const atIndex = await ask('GET_MODULE_INFO', { index: module.index });
  if (!atIndex.ok) return meansModuleIsGone(atIndex.error) ? undefined : describeFailure(atIndex.error);
  if (!isSameModule(atIndex.value, module)) return undefined;
  const unloaded = await ask('UNLOAD_MODULE', { index: module.index });
  return unloaded.ok ? undefined : describeFailure(unloaded.error);
}

/** Compares more than the index, because another module may get the same index later. */
export function isSameModule(one: ModuleInfo, other: ModuleInfo): boolean {
  return one.index === other.index && one.name === other.name && one.argument === other.argument;
}

/**
 * Replaces quotes, and backslashes, which may escape quotes. The text becomes VALUE, as in
 * `sink_properties="device.description='VALUE'"`. PulseAudio and PipeWire differ in how they read further
 * quotes within these two levels of quotes.
 */
export function withoutQuotes(text: string): string {
  return text.replaceAll('"', '”').replaceAll("'", '’').replaceAll('\\', '/');
}

function meansModuleIsGone(error: RequestError): boolean {
  return error.kind === 'server' && error.name === 'NOENTITY';
}

function describeFailure(error: RequestError): string {
  return error.kind === 'server' ? `${error.meaning} (${error.name})` : error.kind;
}
