// The node itself: system facts, the health of its parts, and power actions behind a confirmation that names the node.

import { useState } from 'preact/hooks';
import type { BackendInfo, NodeState, Tonearm } from '../client/client.js';
import type { TextKey } from './english.js';
import { Icon } from './icons.js';
import { isolated, translate } from './language.js';
import { memoized, stateText } from './parts.js';
import { Question, useQuestion } from './question.js';

interface SystemProps extends Pick<NodeState, 'server' | 'backends' | 'power'> {
  readonly node: Tonearm;
}

export const System = memoized(({ node, server, backends, power }: SystemProps) => {
  return (
    <div class="cards">
      {power === undefined ? null : <Power node={node} power={power} name={server?.hostname ?? ''} />}
      <Health backends={backends} />
      {server === undefined ? null : (
        <dl class="card facts">
          <dt>{translate('version')}</dt>
          <dd>
            <bdi>{`${server.api_sw} ${server.api_version}`}</bdi>
          </dd>
          <dt>{translate('system_os')}</dt>
          <dd>
            <bdi>{server.os_version}</bdi>
          </dd>
          <dt>{translate('platform')}</dt>
          <dd>
            <bdi>{server.os_platform}</bdi>
          </dd>
        </dl>
      )}
    </div>
  );
});

/** Collapsed to one line while all is well. */
function Health({ backends }: Pick<SystemProps, 'backends'>) {
  const isWell = [...backends.values()].every(({ state }) => state === 'up');
  return (
    <details class="card health" open={!isWell}>
      <summary>
        <span class={`state ${isWell ? 'good' : 'bad'}`}>
          <span class="dot" aria-hidden="true" />
          {translate(isWell ? 'allWell' : 'notWell')}
        </span>
      </summary>
      <ul class="lines">
        {[...backends].map(([name, state]) => (
          <BackendLine key={name} name={name} state={state} />
        ))}
      </ul>
    </details>
  );
}

const BACKENDS: Readonly<Record<string, TextKey>> = {
  audio: 'backend_audio',
  systemd: 'backend_systemd',
  power: 'backend_power',
  upgrade: 'backend_upgrade',
  players: 'backend_players',
  bluetooth: 'backend_bluetooth',
  mqtt: 'backend_mqtt',
  discovery: 'backend_discovery',
};

function BackendLine({ name, state }: { readonly name: string; readonly state: BackendInfo }) {
  const text = BACKENDS[name];
  return (
    <li>
      <div class="row wrap-row">
        <span class="part">{text === undefined ? name : translate(text)}</span>
        <span class={`state ${state.state === 'up' ? 'good' : 'bad'}`}>
          <span class="dot" aria-hidden="true" />
          {stateText(state.state)}
        </span>
      </div>
      {state.detail === undefined || state.state === 'up' ? null : <p class="quiet wrap">{state.detail}</p>}
    </li>
  );
}

const ACTIONS = {
  reboot: { icon: 'restart', label: 'reboot', ask: 'rebootAsk', explanation: 'rebootTell', yes: 'rebootYes' },
  power_off: {
    icon: 'power',
    label: 'powerOff',
    ask: 'powerOffAsk',
    explanation: 'powerOffTell',
    yes: 'powerOffYes',
  },
} as const;

type PowerAction = keyof typeof ACTIONS;

interface PowerProps {
  readonly node: Tonearm;
  readonly power: Readonly<Record<PowerAction, boolean>>;
  readonly name: string;
}

function Power({ node, power, name }: PowerProps) {
  const [action, setAction] = useState<PowerAction>('reboot');
  const { ask, explanation, yes } = ACTIONS[action];
  const names = { node: isolated(name) };
  const { open, ...question } = useQuestion(
    () => (action === 'reboot' ? node.reboot() : node.powerOff()),
    translate('didNotWork', { what: translate(yes, names) }),
  );
  const begin = (wanted: PowerAction): void => {
    setAction(wanted);
    open();
  };
  return (
    <div class="card">
      <h3>{translate('power')}</h3>
      {power.reboot || power.power_off ? null : <p class="quiet">{translate('noPower')}</p>}
      <div class="row wrap-row">
        {(Object.keys(ACTIONS) as PowerAction[]).map((each) => (
          <button
            key={each}
            type="button"
            class="button small"
            disabled={!power[each]}
            onClick={() => begin(each)}
          >
            <Icon name={ACTIONS[each].icon} />
            {translate(ACTIONS[each].label)}
          </button>
        ))}
      </div>
      <Question
        {...question}
        id="power"
        ask={translate(ask, names)}
        explanation={translate(explanation, names)}
        yes={translate(yes, names)}
        isDangerous
      />
    </div>
  );
}
