// The states of sinks and sources: how the sound server numbers them, and which of them mean that a device is
// awake. Pure.

/** By the `state` of a sink or a source, PA_SINK_RUNNING being 0. */
export const DEVICE_STATES = ['running', 'idle', 'suspended'] as const;

/** Also the state of a device that was suspended while clients play to it, or capture it. */
export const SUSPENDED = DEVICE_STATES.indexOf('suspended');

/** False for a device that sleeps, or is still being created. */
export function isAwake(state: number | undefined): boolean {
  const name = DEVICE_STATES[state ?? -1];
  return name === 'running' || name === 'idle';
}
