// Draws the section `system`: the power actions, the states of the backends and bridges, and the versions.

import type { NodeState } from '../client/client.js';
import { isolated, translate } from './language.js';
import { IfMayChange } from './may-change.js';
import { useNode } from './node.js';
import { Status, stateText } from './parts.js';
import { QuestionButton } from './question.js';

export function System({ server, backends, power }: NodeState) {
  return (
    <div class="cards">
      <IfMayChange>
        {power === undefined ? null : <Power power={power} hostname={server?.hostname ?? ''} />}
      </IfMayChange>
      <Health backends={backends} />
      {server === undefined ? null : (
        <dl class="card facts">
          <Fact name={translate('version')} value={`${server.api_sw} ${server.api_version}`} />
          <Fact name={translate('system_os')} value={server.os_version} />
          <Fact name={translate('platform')} value={server.os_platform} />
        </dl>
      )}
    </div>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <bdi>{value}</bdi>
      </dd>
    </>
  );
}

/** While all backends and bridges are up, their states are folded to one line. */
function Health({ backends }: Pick<NodeState, 'backends'>) {
  const areAllUp = [...backends.values()].every(({ state }) => state === 'up');
  return (
    <details class="card health" open={!areAllUp}>
      <summary>
        <Status tone={areAllUp ? 'good' : 'bad'}>{translate(areAllUp ? 'allWell' : 'notWell')}</Status>
      </summary>
      <ul class="lines">
        {[...backends].map(([name, { state, detail }]) => (
          <li key={name}>
            <div class="row wrap-row">
              <span class="part">{translate(`backend_${name}`)}</span>
              <Status tone={state === 'up' ? 'good' : 'bad'}>{stateText(state)}</Status>
            </div>
            {detail === undefined || state === 'up' ? null : <p class="quiet wrap">{detail}</p>}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Power({ power, hostname }: Readonly<{ power: NonNullable<NodeState['power']>; hostname: string }>) {
  const node = useNode();
  const nodeName = { node: isolated(hostname) };
  const actions = [
    { action: 'reboot', icon: 'restart', isAllowed: power.reboot },
    { action: 'powerOff', icon: 'power', isAllowed: power.power_off },
  ] as const;
  return (
    <div class="card">
      <h3>{translate('power')}</h3>
      {power.reboot || power.power_off ? null : <p class="quiet">{translate('noPower')}</p>}
      <div class="row wrap-row">
        {actions.map(({ action, icon, isAllowed }) => (
          <QuestionButton
            key={action}
            icon={icon}
            text={translate(action)}
            disabled={!isAllowed}
            question={translate(`${action}Ask`, nodeName)}
            explanation={translate(`${action}Effect`, nodeName)}
            confirm={translate(`${action}Yes`, nodeName)}
            isDangerous
            failureTitle={translate('didNotWork', { what: translate(`${action}Yes`, nodeName) })}
            send={() => node[action]()}
          />
        ))}
      </div>
    </div>
  );
}
