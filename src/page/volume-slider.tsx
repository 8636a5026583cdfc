// Draws the slider of a volume in percent, and decides how far a key, the wheel or a button moves it.

import { formatPercent } from './language.js';
import { useLive } from './node.js';
import { Slider } from './slider.js';

/** This step applies until the node's own step is known. It is the default of `api.ui.volumeStep`, 5 %. */
const DEFAULT_STEP = 0.05;

type VolumeProps = Omit<Parameters<typeof Slider>[0], 'text' | 'keyStep'>;

/** The returned function reads the node's step, 0..1, at each call, because the step may change. */
export function useVolumeStep(): () => number {
  const live = useLive();
  return () => live.state.server?.volume_step ?? DEFAULT_STEP;
}

export function VolumeSlider(props: VolumeProps) {
  return <Slider text={formatPercent} keyStep={useVolumeStep()} {...props} />;
}
