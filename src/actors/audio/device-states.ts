// Defines the states of sinks and sources: how the sound server numbers them, and which of them mean that a
// device is awake. Pure.

/** By the `state` of a sink or a source, where PA_SINK_RUNNING is 0. */
export const DEVICE_STATES = ['running', 'idle', 'suspended'] as const;

/** A device has this state, too, if it was suspended while clients play to it, or capture it. */
export const SUSPENDED = DEVICE_STATES.indexOf('suspended');

/** False for a device that sleeps, or is still being created. */
export function isAwake(state: number | undefined): boolean {
  const name = DEVICE_STATES[state ?? -1];
  return name === 'running' || name === 'idle';
}
