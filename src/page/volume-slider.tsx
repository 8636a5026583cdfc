// A slider for a volume, in percent, and by how much a key, a notch of the wheel or a button moves a volume.

import { formatPercent } from './language.js';
import { useLive } from './node.js';
import { Slider } from './slider.js';

/** `api.ui.volumeStep` by default, for the moment before the node's own is known. */
const STEP = 0.05;

type VolumeProps = Omit<Parameters<typeof Slider>[0], 'text' | 'keyStep'>;

/** The node's step, as it is known at the time of the call. */
export function useVolumeStep(): () => number {
  const live = useLive();
  return () => live.state.server?.volume_step ?? STEP;
}

export function VolumeSlider(props: VolumeProps) {
  return <Slider text={formatPercent} keyStep={useVolumeStep()} {...props} />;
}
