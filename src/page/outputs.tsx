// The outputs: volume, mute, level, default, port and balance.

import type { OutputRecord, Tonearm } from '../client/client.js';
import { Choice, Toggle, useControl } from './controls.js';
import type { TextKey } from './english.js';
import { say, sayPercent } from './language.js';
import { Meter } from './meter.js';
import { mostOf, outputName } from './output-choice.js';
import { Cards, Empty, Line, still } from './parts.js';
import { Slider } from './slider.js';

interface OutputsProps {
  readonly node: Tonearm;
  readonly outputs: readonly OutputRecord[];
}

/** In the sound server's order, also when the default changes, so that a card does not move while it is used. */
export function Outputs({ node, outputs }: OutputsProps) {
  const sorted = [...outputs].sort((a, b) => a.id - b.id);
  if (sorted.length === 0) return <Empty>{say('noOutputs')}</Empty>;
  return (
    <Cards>
      {sorted.map((output) => (
        <OutputCard key={output.id} node={node} output={output} />
      ))}
    </Cards>
  );
}

const STATES: Readonly<Record<OutputRecord['state'], TextKey>> = {
  running: 'stateRunning',
  idle: 'stateIdle',
  suspended: 'stateSuspended',
  unknown: 'stateUnknown',
};

const OutputCard = still(({ node, output }: { readonly node: Tonearm; readonly output: OutputRecord }) => {
  const { id, muted, volume } = output;
  const name = outputName(output);
  const told = muted ? say('muted') : say(STATES[output.state]);
  return (
    <li class="card output" data-output={output.name} data-default={output.default}>
      <div class="row">
        <div class="grow">
          <Line class="strong">{name}</Line>
          <p class="quiet">{told}</p>
        </div>
        <DefaultButton node={node} output={output} name={name} />
      </div>
      <div class="row">
        <Toggle
          label={say('muteOf', { name })}
          icon="volume"
          iconOn="muted"
          isOn={muted}
          send={(wanted) => node.muteOutput(id, { muted: wanted })}
        />
        <Slider
          class="grow"
          label={say('volumeOf', { name })}
          value={volume}
          max={mostOf(output)}
          text={sayPercent}
          dim={muted}
          send={(wanted) => node.setOutputVolume(id, { volume: wanted })}
        />
      </div>
      <Meter output={id} name={name} />
      <OutputMore node={node} output={output} name={name} />
    </li>
  );
});

interface OutputPartProps {
  readonly node: Tonearm;
  readonly output: OutputRecord;
  readonly name: string;
}

function DefaultButton({ node, output, name }: OutputPartProps) {
  const label = say('makeDefaultOf', { name });
  const { shown, set } = useControl(output.default, () => node.setDefaultOutput(output.id), label);
  // One button for both states, so that it keeps the focus.
  return (
    <button
      type="button"
      class="button small plain"
      aria-label={label}
      aria-pressed={shown}
      onClick={() => shown || set(true)}
    >
      {say(shown ? 'defaultOutput' : 'makeDefault')}
    </button>
  );
}

/** Settings that are rarely changed. */
function OutputMore({ node, output, name }: OutputPartProps) {
  const { id, ports = [], active_port, balance } = output;
  return (
    <details class="more">
      <summary aria-label={say('moreOf', { name })}>{say('more')}</summary>
      {ports.length === 0 || active_port === undefined ? null : (
        <div class="field">
          <span aria-hidden="true">{say('port')}</span>
          <Choice
            label={say('portOf', { name })}
            value={active_port}
            options={ports.map((port) => ({
              value: port.name,
              text: port.available === 'no' ? say('portAway', { name: port.description }) : port.description,
            }))}
            send={(port) => node.setOutputPort(id, { port })}
          />
        </div>
      )}
      <div class="field">
        <span aria-hidden="true">{say('balance')}</span>
        <Slider
          class="grow middle"
          label={say('balanceOf', { name })}
          value={balance}
          min={-1}
          step={0.05}
          text={sayBalance}
          send={(wanted) => node.setOutputBalance(id, { balance: wanted })}
        />
      </div>
      <p class="quiet wrap">
        <bdi>{output.name}</bdi>
        {output.driver === undefined ? null : (
          <>
            {' · '}
            <bdi>{output.driver}</bdi>
          </>
        )}
      </p>
    </details>
  );
}

function sayBalance(balance: number): string {
  const value = Math.round(Math.abs(balance) * 100);
  if (value === 0) return say('balanceCentre');
  return say(balance < 0 ? 'balanceLeft' : 'balanceRight', { value });
}
