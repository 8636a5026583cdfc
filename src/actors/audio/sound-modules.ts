// Loads modules into the sound server, and unloads those that we have loaded. Which of them are to be there
// is decided elsewhere (group-modules.ts, listen-modules.ts).

import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { Reply, RequestArgs, RequestName } from '../../protocol/pulse/commands.js';
import type { Result as ReplyResult, RequestError } from '../../protocol/pulse/outcome.js';
import type { ModuleInfo } from '../../protocol/pulse/records.js';

/** Sends a request, and gives its result. */
export type Ask = <C extends RequestName>(command: C, args: RequestArgs<C>) => Promise<ReplyResult<Reply<C>>>;

/** A module as LOAD_MODULE takes it. */
export interface ModuleLoad {
  readonly name: string;
  readonly argument: string;
}

/** The module as the server then lists it, or why the server has not loaded it. */
export async function loadModule(ask: Ask, load: ModuleLoad): Promise<Result<ModuleInfo, string>> {
  const loaded = await ask('LOAD_MODULE', load);
  if (!loaded.ok) return failed(describeFailure(loaded.error));
  const { index } = loaded.value;
  return success({ index, name: load.name, argument: load.argument, used: undefined, props: {} });
}

/**
 * Resolves with the reason where the server has refused it. PipeWire gives a free index to the next module at
 * once, so the module at the index is read before.
 */
export async function unloadModule(ask: Ask, module: ModuleInfo): Promise<string | undefined> {
  const present = await ask('GET_MODULE_INFO', { index: module.index });
  if (!present.ok || !isSameModule(present.value, module)) return undefined;
  const unloaded = await ask('UNLOAD_MODULE', { index: module.index });
  return unloaded.ok ? undefined : describeFailure(unloaded.error);
}

/** False for another module at the index of one that has gone. */
export function isSameModule(one: ModuleInfo, other: ModuleInfo): boolean {
  return one.index === other.index && one.name === other.name && one.argument === other.argument;
}

/**
 * Text for within two levels of quotes in an argument, which the two servers read differently where a quote
 * is within.
 */
export function withoutQuotes(text: string): string {
  return text.replaceAll('"', '”').replaceAll("'", '’').replaceAll('\\', '/');
}

function describeFailure(error: RequestError): string {
  return error.kind === 'server' ? `${error.meaning} (${error.name})` : error.kind;
}
