// The units of both scopes: those of the user can be started, stopped, restarted and enabled, those of the system are shown.

import type { ServiceRecord, Tonearm } from '../client/client.js';
import { ActionButton, Switch, useControl } from './controls.js';
import type { TextKey } from './english.js';
import { say } from './language.js';
import { Cards, Empty, Name, still } from './parts.js';

interface ServicesProps {
  readonly node: Tonearm;
  readonly services: readonly ServiceRecord[];
}

export function Services({ node, services }: ServicesProps) {
  if (services.length === 0) return <Empty>{say('noServices')}</Empty>;
  return (
    <Cards>
      {services.map((service) => (
        <ServiceCard key={`${service.scope}/${service.name}`} node={node} service={service} />
      ))}
    </Cards>
  );
}

type ActiveState = NonNullable<ServiceRecord['active_state']>;

/** How a state is said, and in which colour. */
const STATES: Readonly<Record<ActiveState, readonly [text: TextKey, tone: 'good' | 'bad' | 'busy' | 'off']>> =
  {
    active: ['active', 'good'],
    reloading: ['starting', 'busy'],
    inactive: ['stopped', 'off'],
    failed: ['failed', 'bad'],
    activating: ['starting', 'busy'],
    deactivating: ['stopping', 'busy'],
    maintenance: ['maintenance', 'busy'],
  };

const ServiceCard = still(
  ({ node, service }: { readonly node: Tonearm; readonly service: ServiceRecord }) => {
    const { name, scope, description, exists, enabled, active_state = 'inactive' } = service;
    const isActive = active_state === 'active' || active_state === 'reloading';
    const active = useControl(isActive, (wanted) =>
      wanted ? node.startUnit(scope, name) : node.stopUnit(scope, name),
    );
    const title = description || name;
    const isMine = scope === 'user' && exists;
    const [text, tone] = active.isOnItsWay
      ? ([active.shown ? 'starting' : 'stopping', 'busy'] as const)
      : STATES[active_state];
    return (
      <li class="card service">
        <div class="row">
          <div class="grow">
            <p class="strong clip">
              <Name>{title}</Name>
            </p>
            <p class="quiet clip">
              <bdi>{name}</bdi>
            </p>
          </div>
          <State tone={exists ? tone : 'bad'} text={exists ? sayActive(service, text) : say('missing')} />
        </div>
        <div class="row wrap-row">
          {isMine ? (
            <>
              <button
                type="button"
                class="button small"
                aria-label={say(active.shown ? 'stopOf' : 'startOf', { name: title })}
                onClick={() => active.set(!active.shown)}
              >
                {say(active.shown ? 'stop' : 'start')}
              </button>
              <ActionButton
                class="button small"
                label={say('restartOf', { name: title })}
                send={() => node.restartUnit(scope, name)}
              >
                {say('restart')}
              </ActionButton>
              <ServiceLink service={service} name={title} />
              <Switch
                label={say('autostartOf', { name: title })}
                isOn={enabled}
                send={(wanted) => (wanted ? node.enableUnit(scope, name) : node.disableUnit(scope, name))}
              >
                {say('autostart')}
              </Switch>
            </>
          ) : (
            <>
              {scope === 'system' ? <span class="tag">{say('readOnly')}</span> : null}
              <ServiceLink service={service} name={title} />
            </>
          )}
        </div>
      </li>
    );
  },
);

function sayActive({ running }: ServiceRecord, text: TextKey): string {
  return say(text === 'active' && running ? 'running' : text);
}

function State({ tone, text }: { readonly tone: string; readonly text: string }) {
  return (
    <span class={`state ${tone}`}>
      <span class="dot" aria-hidden="true" />
      {text}
    </span>
  );
}

/** Whoever wrote the configuration may have written anything: only addresses of pages are links. */
function ServiceLink({ service: { url }, name }: { readonly service: ServiceRecord; readonly name: string }) {
  if (url === undefined || !/^https?:\/\//i.test(url)) return null;
  return (
    <a
      class="button small"
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={say('openOf', { name })}
    >
      {say('open')}
    </a>
  );
}
