// The units of both scopes, one line each: units of the user can be started, stopped, restarted and enabled, units of the system are
// only shown.

import { useState } from 'preact/hooks';
import type { ServiceRecord, Tonearm } from '../client/client.js';
import { Switch } from './controls.js';
import type { TextKey } from './english.js';
import { translate } from './language.js';
import { Cards, Empty, ForeignLine, memoized, Unfold } from './parts.js';
import { useUnitCommands, type Verb } from './unit-commands.js';
import { UnitLog } from './unit-log.js';

interface ServicesProps {
  readonly node: Tonearm;
  readonly services: readonly ServiceRecord[];
}

export function Services({ node, services }: ServicesProps) {
  if (services.length === 0) return <Empty>{translate('noServices')}</Empty>;
  const sorted = [...services].sort((a, b) => Number(isMine(b)) - Number(isMine(a)));
  return (
    <Cards>
      {sorted.map((service) => (
        <ServiceCard key={`${service.scope}/${service.name}`} node={node} service={service} />
      ))}
    </Cards>
  );
}

function isMine({ scope, exists }: ServiceRecord): boolean {
  return scope === 'user' && exists;
}

type ActiveState = NonNullable<ServiceRecord['active_state']>;

interface ShownState {
  readonly text: TextKey;
  readonly tone: 'good' | 'bad' | 'busy' | 'off';
  /** The action of the button; undefined if nothing can be done now. */
  readonly verb?: Exclude<Verb, 'restart'>;
}

const STATES: Readonly<Record<ActiveState, ShownState>> = {
  active: { text: 'active', tone: 'good', verb: 'stop' },
  reloading: { text: 'starting', tone: 'busy', verb: 'stop' },
  inactive: { text: 'stopped', tone: 'off', verb: 'start' },
  failed: { text: 'failed', tone: 'bad', verb: 'start' },
  // It may hang in this state, so stop is offered.
  activating: { text: 'starting', tone: 'busy', verb: 'stop' },
  // A command would wait until the unit has stopped.
  deactivating: { text: 'stopping', tone: 'busy' },
  maintenance: { text: 'maintenance', tone: 'busy', verb: 'stop' },
};

/** Shown after a command, until systemd reports the change. */
const DURING_COMMAND: Readonly<Record<Verb, ShownState>> = {
  start: STATES.activating,
  stop: STATES.deactivating,
  restart: { text: 'restarting', tone: 'busy', verb: 'stop' },
};

const MISSING: ShownState = { text: 'missing', tone: 'bad' };
const RESTARTED: ShownState = { text: 'restarted', tone: 'good', verb: 'stop' };

function shownState({ active_state = 'inactive', exists, running }: ServiceRecord): ShownState {
  if (!exists) return MISSING;
  const shown = STATES[active_state];
  return active_state === 'active' && running ? { ...shown, text: 'running' } : shown;
}

const ServiceCard = memoized(
  ({ node, service }: { readonly node: Tonearm; readonly service: ServiceRecord }) => {
    const { name, scope, description } = service;
    const title = description || name;
    const [isOpen, open] = useState(false);
    const [isLogOpen, openLog] = useState(false);
    const { verb, hasRestarted, run } = useUnitCommands(node, service, title);
    const known = shownState(service);
    const done = hasRestarted && known.verb === 'stop' ? RESTARTED : undefined;
    const shown = done ?? (verb === undefined || hasRestarted ? known : DURING_COMMAND[verb]);
    return (
      <li class="card service" data-unit={name}>
        <div class="row">
          <div class="grow">
            <ForeignLine class="strong">{title}</ForeignLine>
            <State {...shown} isWatched={scope === 'system'} />
          </div>
          {isMine(service) ? (
            <button
              type="button"
              class="button small"
              aria-label={translate(shown.verb === 'start' ? 'startOf' : 'stopOf', { name: title })}
              disabled={shown.verb === undefined}
              onClick={() => shown.verb !== undefined && run(shown.verb)}
            >
              {translate(shown.verb === 'start' ? 'start' : 'stop')}
            </button>
          ) : null}
          <Unfold name={title} isOpen={isOpen} open={open} />
        </div>
        {isOpen ? (
          <ServiceMore
            node={node}
            service={service}
            title={title}
            restart={() => run('restart')}
            isStill={shown.verb === undefined}
          />
        ) : null}
        {isOpen || isLogOpen || service.active_state === 'failed' ? (
          <UnitLog
            read={() => node.unitLog(scope, name)}
            state={service.active_state}
            hasFailed={service.active_state === 'failed'}
            title={title}
            isOpen={isLogOpen}
            open={openLog}
          />
        ) : null}
      </li>
    );
  },
);

interface MoreProps {
  readonly node: Tonearm;
  readonly service: ServiceRecord;
  readonly title: string;
  readonly restart: () => void;
  /** No command can be sent now. */
  readonly isStill: boolean;
}

function ServiceMore({ node, service, title, restart, isStill }: MoreProps) {
  const { name, scope, enabled } = service;
  return (
    <>
      <p class="quiet wrap">
        <bdi>{name}</bdi>
      </p>
      <div class="row wrap-row">
        {isMine(service) ? (
          <button
            type="button"
            class="button small"
            aria-label={translate('restartOf', { name: title })}
            disabled={isStill}
            onClick={restart}
          >
            {translate('restart')}
          </button>
        ) : null}
        <ServiceLink service={service} name={title} />
        {isMine(service) ? (
          <Switch
            label={translate('autostartOf', { name: title })}
            isOn={enabled}
            send={(wanted) => (wanted ? node.enableUnit(scope, name) : node.disableUnit(scope, name))}
          >
            {translate('autostart')}
          </Switch>
        ) : null}
      </div>
    </>
  );
}

interface StateProps extends ShownState {
  /** It cannot be controlled from here. */
  readonly isWatched: boolean;
}

function State({ tone, text, isWatched }: StateProps) {
  return (
    <p class="quiet">
      <span class={`state ${tone}`}>
        <span class="dot" aria-hidden="true" />
        {translate(text)}
      </span>
      {isWatched ? ` · ${translate('readOnly')}` : ''}
    </p>
  );
}

/** The configuration may contain any text, so only http and https addresses become links. */
function ServiceLink({ service: { url }, name }: { readonly service: ServiceRecord; readonly name: string }) {
  if (url === undefined || !/^https?:\/\//i.test(url)) return null;
  return (
    <a
      class="button small"
      href={url}
      target="_blank"
      rel="noopener noreferrer"
      aria-label={translate('openOf', { name })}
    >
      {translate('open')}
    </a>
  );
}
