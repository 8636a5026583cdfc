// Draws a line of the large card: the output at which the music plays, and the button of the sleep timer.

import { useState } from 'preact/hooks';
import type { NodeState, OutputRecord } from '../client/client.js';
import { Button, Icon } from './icons.js';
import { isolated, translate } from './language.js';
import { Late, LatePart } from './late.js';
import { useMayChange } from './may-change.js';
import { useLive } from './node.js';
import { outputIcon } from './output-icon.js';
import { useTicks } from './parts.js';

const OUTPUT_SHEET = new LatePart(async () => (await import('./sheets.js')).OutputSheet);
const SLEEP = new LatePart(async () => (await import('./sheets.js')).Sleep);

const TICK_MS = 10_000;
const MINUTE_MS = 60_000;

interface PlayingOnProps {
  readonly output: OutputRecord | undefined;
  readonly state: NodeState;
}

export function PlayingOn({ output, state }: PlayingOnProps) {
  return (
    <div class="playing-on">
      {output === undefined ? null : <OutputButton output={output} outputs={state.outputs} />}
      <SleepButton {...state} />
    </div>
  );
}

function OutputButton({ output, outputs }: Pick<NodeState, 'outputs'> & { readonly output: OutputRecord }) {
  const [isOpen, setOpen] = useState(false);
  const text = translate('playingOn', { name: isolated(output.label) });
  return (
    <>
      <Button class="here" isOpen={isOpen} disabled={!useMayChange()} onClick={() => setOpen(true)}>
        <Icon name={outputIcon(output)} />
        <span class="clip">{text}</span>
        <Icon name="more" />
      </Button>
      {isOpen ? (
        <Late part={OUTPUT_SHEET} props={{ output, outputs, onClose: () => setOpen(false) }} />
      ) : null}
    </>
  );
}

/** Draws nothing on a node without the audio backend, because such a node has no sleep record. */
function SleepButton({ sleep, players }: Pick<NodeState, 'sleep' | 'players'>) {
  const live = useLive();
  const mayChange = useMayChange();
  const [isOpen, setOpen] = useState(false);
  useTicks(TICK_MS, sleep?.active === true);
  if (sleep === undefined || !mayChange) return null;
  // If the sleep timer is off, `until` is undefined and `minutes` is `NaN`. Then no text contains `minutes`.
  const leftMs = Date.parse(sleep.until ?? '') - live.nodeTime();
  const minutes = Math.max(0, Math.ceil(leftMs / MINUTE_MS));
  const text = translate(sleep.active ? 'sleepIn' : 'sleep', { minutes });
  return (
    <div class="moon">
      <Button icon="moon" label={text} isPressed={sleep.active} onClick={() => setOpen(true)} />
      {sleep.active ? <span aria-hidden="true">{translate('sleepMinutes', { minutes })}</span> : null}
      {isOpen ? (
        <Late part={SLEEP} props={{ title: text, sleep, players, onClose: () => setOpen(false) }} />
      ) : null}
    </div>
  );
}
