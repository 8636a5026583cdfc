// Draws the units of both scopes, one row each. The user's units can be started, stopped, restarted and
// enabled. The system's units are only shown.

import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { NodeState, ServiceRecord } from '../client/client.js';
import { SETTLE_MS } from './control.js';
import { Switch } from './controls.js';
import { Button } from './icons.js';
import { translate } from './language.js';
import { IfMayChange } from './may-change.js';
import { useNode } from './node.js';
import { Reporting, useDismissal } from './notices.js';
import { Empty, ForeignLine, memoized, Rows, Status, type Tone, useLater, useUnfold } from './parts.js';
import type { TextKey } from './texts/english.js';
import { UnitLog } from './unit-log.js';

export function Services({ units }: Pick<NodeState, 'units'>) {
  if (units.size === 0) return <Empty>{translate('noServices')}</Empty>;
  const sorted = [...units].sort(([, a], [, b]) => {
    return Number(isControllable(b)) - Number(isControllable(a)) || compareTitles(a, b);
  });
  return (
    <Rows>
      {sorted.map(([key, service]) => (
        <ServiceCard key={key} service={service} />
      ))}
    </Rows>
  );
}

/** Orders units by title, because the node sends them in no order that is the same on the next connection. */
function compareTitles(a: ServiceRecord, b: ServiceRecord): number {
  const first = titleOf(a).toLowerCase();
  const second = titleOf(b).toLowerCase();
  return Number(first > second) - Number(first < second);
}

function titleOf({ name, description }: ServiceRecord): string {
  return description || name;
}

/** True for a unit of the user that exists. These units are the first in the list. */
function isControllable({ scope, exists }: ServiceRecord): boolean {
  return scope === 'user' && exists;
}

interface DisplayedState {
  readonly text: TextKey;
  readonly tone: Tone;
  /** The command of the button; undefined if none is possible now. */
  readonly verb?: Exclude<Verb, 'restart'>;
}

const STATES: Readonly<Record<NonNullable<ServiceRecord['active_state']>, DisplayedState>> = {
  active: { text: 'active', tone: 'good', verb: 'stop' },
  reloading: { text: 'starting', tone: 'busy', verb: 'stop' },
  inactive: { text: 'stopped', tone: 'off', verb: 'start' },
  failed: { text: 'failed', tone: 'bad', verb: 'start' },
  // A unit may hang in this state, so it can be stopped.
  activating: { text: 'starting', tone: 'busy', verb: 'stop' },
  // No command is possible, because it would wait until the unit has stopped.
  deactivating: { text: 'stopping', tone: 'busy' },
  maintenance: { text: 'maintenance', tone: 'busy', verb: 'stop' },
};

/** The state displayed after a command until systemd reports the change. */
const DURING_COMMAND: Readonly<Record<Verb, DisplayedState>> = {
  start: STATES.activating,
  stop: STATES.deactivating,
  restart: { text: 'restarting', tone: 'busy', verb: 'stop' },
};

const RESTARTED: DisplayedState = { text: 'restarted', tone: 'good', verb: 'stop' };

function knownState({ active_state = 'inactive', exists, running }: ServiceRecord): DisplayedState {
  if (!exists) return { text: 'missing', tone: 'bad' };
  const known = STATES[active_state];
  return active_state === 'active' && running ? { ...known, text: 'running' } : known;
}

const ServiceCard = memoized(({ service }: { readonly service: ServiceRecord }) => {
  const node = useNode();
  const { name, scope, active_state } = service;
  const title = titleOf(service);
  const { isOpen, unfoldButton } = useUnfold(title);
  const { displayed, run } = useUnitCommands(service, title);
  const { text, tone, verb } = displayed;
  const canRun = verb !== undefined;
  const hasFailed = active_state === 'failed';
  return (
    <li class="service" data-unit={name}>
      <div class="row">
        <div class="grow">
          <ForeignLine class="strong">{title}</ForeignLine>
          <p class="quiet">
            <Status tone={tone}>{translate(text)}</Status>
            {scope === 'system' ? ` · ${translate('readOnly')}` : ''}
          </p>
        </div>
        {isControllable(service) ? (
          <UnitButton verb={verb ?? 'stop'} title={title} canRun={canRun} run={run} />
        ) : null}
        {unfoldButton}
      </div>
      {isOpen ? <ServiceMore service={service} title={title} canRun={canRun} run={run} /> : null}
      <UnitLog
        read={() => node.unitLog(scope, name)}
        state={active_state}
        hasFailed={hasFailed}
        title={title}
        isOffered={isOpen || hasFailed}
      />
    </li>
  );
});

interface ButtonProps {
  readonly title: string;
  /** False while no command is possible. */
  readonly canRun: boolean;
  readonly run: (verb: Verb) => void;
}

function UnitButton({ verb, title, canRun, run }: ButtonProps & { readonly verb: Verb }) {
  return (
    <IfMayChange>
      <Button label={translate(`${verb}Of`, { name: title })} disabled={!canRun} onClick={() => run(verb)}>
        {translate(verb)}
      </Button>
    </IfMayChange>
  );
}

function ServiceMore({ service, ...button }: ButtonProps & { readonly service: ServiceRecord }) {
  const node = useNode();
  const { name, scope, enabled, url } = service;
  const { title } = button;
  const linkLabel = translate('openOf', { name: title });
  // The configuration may contain any text, so only http and https addresses become links.
  const isLink = url !== undefined && /^https?:\/\//i.test(url);
  return (
    <>
      <p class="quiet wrap">
        <bdi>{name}</bdi>
      </p>
      <div class="row wrap-row">
        {isControllable(service) ? <UnitButton verb="restart" {...button} /> : null}
        {isLink ? (
          <a class="button" href={url} target="_blank" rel="noopener noreferrer" aria-label={linkLabel}>
            {translate('open')}
          </a>
        ) : null}
        {isControllable(service) ? (
          <Switch
            label={translate('autostartOf', { name: title })}
            isOn={enabled}
            send={(isEnabled) => (isEnabled ? node.enableUnit(scope, name) : node.disableUnit(scope, name))}
          >
            {translate('autostart')}
          </Switch>
        ) : null}
      </div>
    </>
  );
}

type Verb = 'start' | 'stop' | 'restart';

const FAILURE_TITLES = { start: 'couldNotStart', stop: 'couldNotStop', restart: 'couldNotRestart' } as const;

/** "Restarted" is displayed for this time, because a restarted unit has the same state as before. */
const CONFIRMATION_MS = 2000;

type UnitCommand = Readonly<{ verb: Verb; isAccepted: boolean }>;

/**
 * Sends commands to a unit, and decides which state is displayed while a command is under way. A newer
 * command does not wait for an older one.
 */
function useUnitCommands(service: ServiceRecord, title: string) {
  const { scope, name, active_state } = service;
  const node = useNode();
  const report = useContext(Reporting);
  const [command, setCommand] = useState<UnitCommand>();
  /** The newest command. Answers to older ones are ignored, because the newest may have cancelled them. */
  const newest = useRef<UnitCommand | undefined>(undefined);
  const titles = { name: title };
  useDismissal(translate('couldNotStart', titles), active_state === 'active');
  useDismissal(translate('couldNotRestart', titles), active_state === 'active');
  useDismissal(translate('couldNotStop', titles), active_state === 'inactive');
  const { verb, isAccepted = false } = command ?? {};
  const hasRestarted = verb === 'restart' && isAccepted;
  const displayMs = hasRestarted ? CONFIRMATION_MS : SETTLE_MS;
  useLater(isAccepted ? displayMs : undefined, () => setCommand(undefined), [command]);
  useEffect(() => {
    // The unit has a new state, so the state that was displayed for the command is no longer needed.
    if (isAccepted && !hasRestarted) setCommand(undefined);
  }, [active_state]);
  const run = (requested: Verb): void => {
    const sent = { verb: requested, isAccepted: false };
    newest.current = sent;
    setCommand(sent);
    const send = { start: node.startUnit, stop: node.stopUnit, restart: node.restartUnit }[requested];
    const answer = send(scope, name).catch((error: unknown) => {
      if (sent === newest.current) throw error;
    });
    void report(translate(FAILURE_TITLES[requested], titles), answer).then((isDone) => {
      if (sent === newest.current) setCommand(isDone ? { verb: requested, isAccepted: true } : undefined);
    });
  };
  const known = knownState(service);
  if (verb === undefined) return { displayed: known, run };
  if (!hasRestarted) return { displayed: DURING_COMMAND[verb], run };
  return { displayed: known.verb === 'stop' ? RESTARTED : known, run };
}
