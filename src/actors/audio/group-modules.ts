// Decides which modules the sound server must load and unload for the configured groups
// (docs/configuration.md, "Groups"). Pure: group-keeper.ts carries the steps out.

import type { GroupChoice } from '../../protocol/actor/settings.js';
import type { ModuleInfo, ServerInfo } from '../../protocol/pulse/records.js';
import { GROUP_MARK, GROUP_PREFIX, STAND_IN_MARK } from './marks.js';
import { kindOfServer } from './server-kind.js';
import { type ModuleLoad, withoutQuotes } from './sound-modules.js';

export type Groups = Readonly<Record<string, GroupChoice>>;

export interface ObservedSound {
  readonly server: ServerInfo;
  readonly modules: readonly ModuleInfo[];
  /** The names of all sinks except stand-ins. */
  readonly outputs: ReadonlySet<string>;
}

export type GroupStep =
  | { readonly do: 'unload'; readonly module: ModuleInfo }
  | {
      readonly do: 'make';
      readonly group: string;
      readonly module: ModuleLoad;
      /**
       * One stand-in for each missing output. They are loaded before the group's module, because no server
       * loads this module while an output is missing. They are unloaded afterwards.
       */
      readonly standIns: readonly ModuleLoad[];
    };

const COMBINE = 'module-combine-sink';
const NULL_SINK = 'module-null-sink';

/** The first major version of PulseAudio without the fault that `mayAbort` describes. */
const SAFE_PULSEAUDIO_MAJOR = 17;

/**
 * Matches what `combineModule` writes, by a mark that other programs do not write. An example:
 * `sink_name=tonearm.all slaves=living,tv sink_properties="… tonearm.group=all"`
 * The flag `s` is needed, because the group's label may contain a line separator (U+2028).
 */
const OWN_GROUP_ARGUMENT = new RegExp(
  `^sink_name=tonearm\\.(?<group>[a-z0-9_-]+) slaves=(?<slaves>\\S+) .*${GROUP_MARK}=\\k<group>"$`,
  's',
);
/** Matches what `standInModule` writes: `sink_name=tv sink_properties="tonearm.stand_in=all"`. */
const OWN_STAND_IN_ARGUMENT = new RegExp(`^sink_name=\\S+ sink_properties="${STAND_IN_MARK}=[a-z0-9_-]+"$`);

/**
 * The modules to unload come first, then the groups to make. All stand-ins are unloaded, because those that
 * still exist are left over from an earlier attempt. A group that is not configured is unloaded. A group is
 * made anew if its outputs, or their order, are not those of the configuration. A group whose label has
 * changed keeps the old label, because making the group anew would interrupt the music.
 */
export function groupSteps(desired: Groups, observed: ObservedSound): readonly GroupStep[] {
  const keptGroups = new Set<string>();
  const steps: GroupStep[] = [];
  for (const module of observed.modules) {
    const { group, slaves } = ownGroup(module) ?? {};
    const isAsDesired = group !== undefined && slaves === configuredSlaves(desired, group);
    // If several modules make a group as desired, only the first one is kept.
    const isDuplicate = group !== undefined && keptGroups.has(group);
    if (isAsDesired && !isDuplicate) keptGroups.add(group);
    else if (group !== undefined || isOwnStandIn(module)) steps.push({ do: 'unload', module });
  }
  for (const [group, choice] of Object.entries(desired)) {
    if (keptGroups.has(group) || isNameTaken(group, observed)) continue;
    const missing = missingOutputs(choice, observed);
    const areAllMissing = missing.length === choice.outputs.length;
    if (areAllMissing) continue;
    const standIns = missing.map((output) => standInModule(output, group));
    steps.push({ do: 'make', group, module: combineModule(group, choice, observed.server), standIns });
  }
  return steps;
}

/** Sentences for /health about groups that are not made, or play nowhere. */
export function groupRemarks(desired: Groups, observed: ObservedSound): readonly string[] {
  const remarks: string[] = [];
  for (const [group, choice] of Object.entries(desired)) {
    const subject = `The group ${JSON.stringify(group)}`;
    const areAllMissing = missingOutputs(choice, observed).length === choice.outputs.length;
    if (isNameTaken(group, observed)) remarks.push(`${subject} is not made: another output has its name`);
    else if (areAllMissing) remarks.push(`${subject} plays nowhere: none of its outputs is there`);
  }
  return remarks;
}

/**
 * The value that `slaves` must have; undefined for a group that is not configured. `Object.hasOwn` is needed,
 * because every object inherits some names that a group may have, such as `constructor`.
 */
function configuredSlaves(desired: Groups, group: string): string | undefined {
  return Object.hasOwn(desired, group) ? desired[group]?.outputs.join() : undefined;
}

/** Undefined if the module is no group of the daemon. */
function ownGroup({ name, argument }: ModuleInfo): { group?: string; slaves?: string } | undefined {
  return name === COMBINE ? OWN_GROUP_ARGUMENT.exec(argument ?? '')?.groups : undefined;
}

function isOwnStandIn({ name, argument }: ModuleInfo): boolean {
  return name === NULL_SINK && OWN_STAND_IN_ARGUMENT.test(argument ?? '');
}

function missingOutputs({ outputs }: GroupChoice, observed: ObservedSound): readonly string[] {
  return outputs.filter((output) => !observed.outputs.has(output));
}

/**
 * True if the name of the group's sink belongs to an output that the daemon has not made. If the group were
 * made all the same, PulseAudio would add a number to this name, and PipeWire would have two sinks of one
 * name.
 */
function isNameTaken(group: string, { outputs, modules }: ObservedSound): boolean {
  return outputs.has(GROUP_PREFIX + group) && !modules.some((module) => ownGroup(module)?.group === group);
}

function combineModule(group: string, { label, outputs }: GroupChoice, server: ServerInfo): ModuleLoad {
  const name = GROUP_PREFIX + group;
  // PipeWire stores the volume of a group under its media.name. Without a media.name of their own, all
  // groups would share one volume.
  const properties = `device.description='${withoutQuotes(label ?? group)}' media.name=${name} ${GROUP_MARK}=${group}`;
  const clockArgument = mayAbort(server) ? 'adjust_time=0 ' : '';
  const argument = `sink_name=${name} slaves=${outputs.join()} ${clockArgument}sink_properties="${properties}"`;
  return { name: COMBINE, argument };
}

/**
 * True if the server may abort when a stream moves to a group that is being made, as PulseAudio 16 does. With
 * `adjust_time=0` the server does not correct the clocks of the outputs, and does not abort.
 */
function mayAbort(server: ServerInfo): boolean {
  const major = Number.parseInt(server.packageVersion ?? '', 10);
  // A version that cannot be read is NaN, which counts as not safe.
  const isSafe = major >= SAFE_PULSEAUDIO_MAJOR;
  return kindOfServer(server) === 'pulseaudio' && !isSafe;
}

function standInModule(output: string, group: string): ModuleLoad {
  return { name: NULL_SINK, argument: `sink_name=${output} sink_properties="${STAND_IN_MARK}=${group}"` };
}
