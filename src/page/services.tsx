// The units of both scopes, one line each: those of the user can be started, stopped, restarted and enabled,
// the system's are only shown.

import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { NodeState, ServiceRecord } from '../client/client.js';
import { SETTLE_MS } from './control.js';
import { Switch } from './controls.js';
import { Button } from './icons.js';
import { translate } from './language.js';
import { Changing } from './may-change.js';
import { useNode } from './node.js';
import { Reporting, useMended } from './notices.js';
import { Empty, ForeignLine, memoized, Rows, Status, type Tone, useLater, useUnfold } from './parts.js';
import type { TextKey } from './texts/english.js';
import { UnitLog } from './unit-log.js';

export function Services({ units }: Pick<NodeState, 'units'>) {
  if (units.size === 0) return <Empty>{translate('noServices')}</Empty>;
  const sorted = [...units].sort(([, a], [, b]) => Number(isMine(b)) - Number(isMine(a)) || inOrder(a, b));
  return (
    <Rows>
      {sorted.map(([key, service]) => (
        <ServiceCard key={key} service={service} />
      ))}
    </Rows>
  );
}

/** Sorts units by name, as they come from a node in the order of their last changes. */
function inOrder(a: ServiceRecord, b: ServiceRecord): number {
  const [first, second] = [a, b].map((unit) => titleOf(unit).toLowerCase()) as [string, string];
  return Number(first > second) - Number(first < second);
}

function titleOf({ name, description }: ServiceRecord): string {
  return description || name;
}

function isMine({ scope, exists }: ServiceRecord): boolean {
  return scope === 'user' && exists;
}

interface DisplayedState {
  readonly text: TextKey;
  readonly tone: Tone;
  /** The action of the button; undefined if nothing can be done now. */
  readonly verb?: Exclude<Verb, 'restart'>;
}

const STATES: Readonly<Record<NonNullable<ServiceRecord['active_state']>, DisplayedState>> = {
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
  const { isOpen, unfold } = useUnfold(title);
  const { verb, hasRestarted, run } = useUnitCommands(service, title);
  const known = knownState(service);
  const during = verb === undefined ? known : DURING_COMMAND[verb];
  const { text, tone, verb: next } = hasRestarted ? (known.verb === 'stop' ? RESTARTED : known) : during;
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
        {isMine(service) ? (
          <UnitButton verb={next === 'start' ? 'start' : 'stop'} title={title} isStill={!next} run={run} />
        ) : null}
        {unfold}
      </div>
      {isOpen ? <ServiceMore service={service} title={title} isStill={!next} run={run} /> : null}
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
  /** No command can be sent now. */
  readonly isStill: boolean;
  readonly run: (verb: Verb) => void;
}

function UnitButton({ verb, title, isStill, run }: ButtonProps & { readonly verb: Verb }) {
  return (
    <Changing>
      <Button label={translate(`${verb}Of`, { name: title })} disabled={isStill} onClick={() => run(verb)}>
        {translate(verb)}
      </Button>
    </Changing>
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
        {isMine(service) ? <UnitButton verb="restart" {...button} /> : null}
        {isLink ? (
          <a class="button" href={url} target="_blank" rel="noopener noreferrer" aria-label={linkLabel}>
            {translate('open')}
          </a>
        ) : null}
        {isMine(service) ? (
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

const FAILED = { start: 'couldNotStart', stop: 'couldNotStop', restart: 'couldNotRestart' } as const;

/** How long a restart is confirmed, as nothing else would show it. */
const CONFIRMATION_MS = 2000;

type UnitCommand = Readonly<{ verb: Verb; isAccepted: boolean }>;

/**
 * Sends commands to a unit. `verb` is in progress, or was accepted just now; a newer command never waits for
 * an older one.
 */
function useUnitCommands({ scope, name, active_state }: ServiceRecord, title: string) {
  const node = useNode();
  const report = useContext(Reporting);
  const [command, setCommand] = useState<UnitCommand>();
  /** The result of an older command is ignored, as the newer one may have cancelled it. */
  const newest = useRef<UnitCommand | undefined>(undefined);
  const titles = { name: title };
  useMended(translate('couldNotStart', titles), active_state === 'active');
  useMended(translate('couldNotRestart', titles), active_state === 'active');
  useMended(translate('couldNotStop', titles), active_state === 'inactive');
  const { verb, isAccepted = false } = command ?? {};
  const hasRestarted = verb === 'restart' && isAccepted;
  const leftMs = hasRestarted ? CONFIRMATION_MS : SETTLE_MS;
  useLater(isAccepted ? leftMs : undefined, () => setCommand(undefined), [command]);
  useEffect(() => {
    // The unit has reached the desired state, or another one.
    if (isAccepted && !hasRestarted) setCommand(undefined);
  }, [active_state]);
  const run = (requested: Verb): void => {
    const mine = { verb: requested, isAccepted: false };
    newest.current = mine;
    setCommand(mine);
    const send = { start: node.startUnit, stop: node.stopUnit, restart: node.restartUnit }[requested];
    const work = send(scope, name).catch((error: unknown) => {
      if (mine === newest.current) throw error;
    });
    void report(translate(FAILED[requested], titles), work).then((isDone) => {
      if (mine === newest.current) setCommand(isDone ? { verb: requested, isAccepted: true } : undefined);
    });
  };
  return { verb, hasRestarted, run };
}
