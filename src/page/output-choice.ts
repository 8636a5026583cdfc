// What the node's configuration wants of outputs on a page: what each is called, and which are left out. Pure.

import type { NodeState, OutputRecord } from '../client/client.js';

/** The configured label, else what the sound server calls it. A device's own nick would stand among the properties as well. */
export function outputName({ nick, props, description, name }: OutputRecord): string {
  const isLabel = props['node.nick'] === undefined && props['device.nick'] === undefined;
  return (isLabel && nick) || description || name;
}

export function withoutHidden(state: NodeState): NodeState {
  const outputs = [...state.outputs].filter(([, { hidden }]) => hidden !== true);
  return outputs.length === state.outputs.size ? state : { ...state, outputs: new Map(outputs) };
}
