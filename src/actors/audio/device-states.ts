// Defines how the sound server numbers the states of sinks and sources, and in which states a device is
// awake. Pure.

/** The position of a state is its number in the records of sinks and sources (PA_SINK_RUNNING is 0). */
const DEVICE_STATES = ['running', 'idle', 'suspended'] as const;

/** A device can be suspended even while clients play to it, or capture it. */
export const SUSPENDED = DEVICE_STATES.indexOf('suspended');

/** Undefined for an unknown state, and for a device that is still being created. */
export function stateName(state: number | undefined): (typeof DEVICE_STATES)[number] | undefined {
  return state === undefined ? undefined : DEVICE_STATES[state];
}

/** False for a suspended device, and if `stateName` returns undefined. */
export function isAwake(state: number | undefined): boolean {
  const name = stateName(state);
  return name === 'running' || name === 'idle';
}
