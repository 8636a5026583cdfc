// Draws the units of the user and of the system. The user's units can be started, stopped, restarted, enabled
// and disabled. The system's units are only displayed.

import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { NodeState, ServiceRecord } from '../client/client.js';
import { SETTLE_MS } from './control.js';
import { Switch } from './controls.js';
import { Button } from './icons.js';
import { translate } from './language.js';
import { IfMayChange } from './may-change.js';
import { useNode } from './node.js';
import { Reporting } from './notices.js';
import { Empty, ForeignText, memoized, Rows, Status, type Tone, useLater, useUnfold } from './parts.js';
import type { TextKey } from './texts/english.js';
import { UnitLog } from './unit-log.js';

export function Services({ units }: Pick<NodeState, 'units'>) {
  if (units.size === 0) return <Empty>{translate('noServices')}</Empty>;
  const sorted = [...units].sort(([, a], [, b]) => compareControllable(a, b) || compareTitles(a, b));
  return (
    <Rows>
      {sorted.map(([key, service]) => (
        <ServiceCard key={key} service={service} />
      ))}
    </Rows>
  );
}

/** Orders the units that can be controlled before the others. */
function compareControllable(a: ServiceRecord, b: ServiceRecord): number {
  return Number(isControllableUnit(b)) - Number(isControllableUnit(a));
}

/** Orders units by title, because the node sends them in the order in which they were first published. */
function compareTitles(a: ServiceRecord, b: ServiceRecord): number {
  const first = unitTitle(a).toLowerCase();
  const second = unitTitle(b).toLowerCase();
  return Number(first > second) - Number(first < second);
}

function unitTitle({ name, description }: ServiceRecord): string {
  return description || name;
}

function isControllableUnit({ scope, exists }: ServiceRecord): boolean {
  return scope === 'user' && exists;
}

interface DisplayedState {
  readonly text: TextKey;
  readonly tone: Tone;
  /** The command of the button; undefined if no command is possible now. */
  readonly verb?: Exclude<Verb, 'restart'>;
}

const STATES: Readonly<Record<NonNullable<ServiceRecord['active_state']>, DisplayedState>> = {
  active: { text: 'active', tone: 'good', verb: 'stop' },
  reloading: { text: 'starting', tone: 'busy', verb: 'stop' },
  inactive: { text: 'stopped', tone: 'off', verb: 'start' },
  failed: { text: 'failed', tone: 'bad', verb: 'start' },
  // A unit may hang in this state, so it can be stopped.
  activating: { text: 'starting', tone: 'busy', verb: 'stop' },
  // A command would wait until the unit has stopped, so no command is possible.
  deactivating: { text: 'stopping', tone: 'busy' },
  maintenance: { text: 'maintenance', tone: 'busy', verb: 'stop' },
};

/** The state that is displayed while a command is under way. */
const DURING_COMMAND: Readonly<Record<Verb, DisplayedState>> = {
  start: STATES.activating,
  stop: STATES.deactivating,
  restart: { text: 'restarting', tone: 'busy', verb: 'stop' },
};

const RESTARTED: DisplayedState = { text: 'restarted', tone: 'good', verb: 'stop' };

function knownState({ active_state = 'inactive', exists, running }: ServiceRecord): DisplayedState {
  if (!exists) return { text: 'missing', tone: 'bad' };
  const state = STATES[active_state];
  // Some active units, such as timers, have no program that runs.
  return active_state === 'active' && running ? { ...state, text: 'running' } : state;
}

const ServiceCard = memoized(({ service }: { readonly service: ServiceRecord }) => {
  const node = useNode();
  const { name, scope, active_state } = service;
  const title = unitTitle(service);
  const { isOpen, unfoldButton } = useUnfold(title);
  const { displayed, run } = useUnitCommands(service, title);
  const { text, tone, verb } = displayed;
  const canRun = verb !== undefined;
  // A disabled button needs a text, too.
  const buttonVerb = verb ?? 'stop';
  const hasFailed = active_state === 'failed';
  return (
    <li class="service" data-unit={name}>
      <div class="row">
        <div class="grow">
          <ForeignText class="strong">{title}</ForeignText>
          <p class="quiet">
            <Status tone={tone}>{translate(text)}</Status>
            {scope === 'system' ? ` · ${translate('readOnly')}` : ''}
          </p>
        </div>
        {isControllableUnit(service) ? (
          <UnitButton verb={buttonVerb} title={title} canRun={canRun} run={run} />
        ) : null}
        {unfoldButton}
      </div>
      {isOpen ? <ServiceMore service={service} title={title} canRun={canRun} run={run} /> : null}
      <UnitLog
        read={() => node.unitLog(scope, name)}
        readAgainOn={active_state}
        showsFailure={hasFailed}
        title={title}
        isOffered={isOpen || hasFailed}
      />
    </li>
  );
});

interface UnitButtonProps {
  readonly title: string;
  /** False while no command is possible. */
  readonly canRun: boolean;
  readonly run: (verb: Verb) => void;
}

function UnitButton({ verb, title, canRun, run }: UnitButtonProps & { readonly verb: Verb }) {
  return (
    <IfMayChange>
      <Button label={translate(`${verb}Of`, { name: title })} disabled={!canRun} onClick={() => run(verb)}>
        {translate(verb)}
      </Button>
    </IfMayChange>
  );
}

function ServiceMore({ service, ...button }: UnitButtonProps & { readonly service: ServiceRecord }) {
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
        {isControllableUnit(service) ? <UnitButton verb="restart" {...button} /> : null}
        {isLink ? (
          <a class="button" href={url} target="_blank" rel="noopener noreferrer" aria-label={linkLabel}>
            {translate('open')}
          </a>
        ) : null}
        {isControllableUnit(service) ? (
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

/** "Restarted" is displayed for this time, because a restart leaves the unit's own state as it was. */
const CONFIRMATION_MS = 2000;

/** The command whose effect is displayed instead of the unit's known state. */
type UnitCommand = Readonly<{ verb: Verb; isAccepted: boolean }>;

/**
 * Sends commands to a unit, and decides which state is displayed meanwhile. A new command does not wait for
 * the answer to an older one.
 */
function useUnitCommands(service: ServiceRecord, title: string) {
  const { scope, name, active_state } = service;
  const node = useNode();
  const report = useContext(Reporting);
  const [command, setCommand] = useState<UnitCommand>();
  /**
   * The newest command. The answer to an older command is ignored, because the newest command may have
   * cancelled the older one.
   */
  const newestCommand = useRef<UnitCommand | undefined>(undefined);
  const latestState = useRef(active_state);
  latestState.current = active_state;
  const withTitle = { name: title };
  // The notice of a failed command goes away when the unit reaches the requested state in another way.
  useDismissal(translate('couldNotStart', withTitle), active_state === 'active');
  useDismissal(translate('couldNotRestart', withTitle), active_state === 'active');
  useDismissal(translate('couldNotStop', withTitle), active_state === 'inactive');
  const { verb, isAccepted = false } = command ?? {};
  const hasRestarted = verb === 'restart' && isAccepted;
  const displayMs = hasRestarted ? CONFIRMATION_MS : SETTLE_MS;
  // Systemd may report no change, so the known state is displayed again after `displayMs`.
  useLater(isAccepted ? displayMs : undefined, () => setCommand(undefined), [command]);
  useEffect(() => {
    // After the answer to a start or a stop, a new state of the unit is displayed at once.
    if (isAccepted && !hasRestarted) setCommand(undefined);
  }, [active_state]);
  const run = (requested: Verb): void => {
    const stateBefore = active_state;
    const sent = { verb: requested, isAccepted: false };
    newestCommand.current = sent;
    setCommand(sent);
    const commands = { start: node.startUnit, stop: node.stopUnit, restart: node.restartUnit };
    const answer = commands[requested](scope, name).catch((error: unknown) => {
      if (sent === newestCommand.current) throw error;
    });
    void report(translate(FAILURE_TITLES[requested], withTitle), answer).then((isDone) => {
      if (sent !== newestCommand.current) return;
      // Often the new state comes before the answer. Then there is nothing to wait for.
      const isEffectKnown = requested !== 'restart' && latestState.current !== stateBefore;
      setCommand(isDone && !isEffectKnown ? { verb: requested, isAccepted: true } : undefined);
    });
  };
  const known = knownState(service);
  if (verb === undefined) return { displayed: known, run };
  if (!hasRestarted) return { displayed: DURING_COMMAND[verb], run };
  // If the unit cannot be stopped now, it has ended since the restart, or is ending. So it is not displayed
  // as restarted.
  const canBeStopped = known.verb === 'stop';
  return { displayed: canBeStopped ? RESTARTED : known, run };
}

/**
 * Removes the notice with this title when its problem is solved, even if somebody else has solved it. A
 * success that is reported with the same title removes the notice.
 */
function useDismissal(title: string, isSolved: boolean): void {
  const report = useContext(Reporting);
  useEffect(() => {
    if (isSolved) void report(title, Promise.resolve());
  }, [report, title, isSolved]);
}
