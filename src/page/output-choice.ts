// Applies the node's configuration of outputs to the page: labels and hidden outputs. Pure.

import type { NodeState, OutputRecord } from '../client/client.js';

/** The configured label, else the sound server's name. A `nick` that is also in the properties is the device's own, not a label. */
export function outputName({ nick, props, description, name }: OutputRecord): string {
  const isLabel = props['node.nick'] === undefined && props['device.nick'] === undefined;
  return (isLabel && nick) || description || name;
}

/** The most that a slider sets, in whole hundredths: the node refuses what is above the limit. */
export function mostOf({ volume_limit: limit = 1 }: OutputRecord): number {
  // 0.57 * 100 is a little less than 57.
  return Math.max(1, Math.floor(limit * 100 + 1e-6)) / 100;
}

export function withoutHidden(state: NodeState): NodeState {
  const outputs = [...state.outputs].filter(([, { hidden }]) => hidden !== true);
  return outputs.length === state.outputs.size ? state : { ...state, outputs: new Map(outputs) };
}
