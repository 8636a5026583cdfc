// Applies the node's configuration of outputs to the page: labels and hidden outputs. Pure.

import type { NodeState, OutputRecord } from '../client/client.js';

/** The configured label, else the sound server's name. A `nick` that is also in the properties is the device's own, not a label. */
export function outputName({ nick, props, description, name }: OutputRecord): string {
  const isLabel = props['node.nick'] === undefined && props['device.nick'] === undefined;
  return (isLabel && nick) || description || name;
}

/** The most that a slider sets, in whole hundredths: the node refuses what is above the limit. */
export function volumeLimitOf({ volume_limit: limit = 1 }: OutputRecord): number {
  // 0.57 * 100 is a little less than 57.
  return Math.max(1, Math.floor(limit * 100 + 1e-6)) / 100;
}

/** Cards of which all outputs are hidden are left out, too. */
export function withoutHidden(state: NodeState): NodeState {
  const outputs = [...state.outputs].filter(([, { hidden }]) => hidden !== true);
  if (outputs.length === state.outputs.size) return state;
  const isOf = (name: string) => (output: OutputRecord) => output.card === name;
  const cards = [...state.cards].filter(([, { name }]) => {
    const own = [...state.outputs.values()].filter(isOf(name));
    return own.length === 0 || own.some(({ hidden }) => hidden !== true);
  });
  return { ...state, outputs: new Map(outputs), cards: new Map(cards) };
}

/** The output that stands for none while the sound server has no card. */
const PLACEHOLDER = 'auto_null';

/** True if nothing can be heard on any of the outputs. */
export function hasNoSoundCard({ outputs, cards }: Pick<NodeState, 'outputs' | 'cards'>): boolean {
  return (
    cards.size === 0 && outputs.size > 0 && [...outputs.values()].every(({ name }) => name === PLACEHOLDER)
  );
}
