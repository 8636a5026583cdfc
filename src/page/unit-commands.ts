// The commands that this page has sent to a unit: shown until systemd reports the change. A newer command never waits for an older one.

import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { ServiceRecord, Tonearm } from '../client/client.js';
import { SETTLE_MS } from './control.js';
import type { TextKey } from './english.js';
import { translate } from './language.js';
import { Reporting, useMended } from './notices.js';

export type Verb = 'start' | 'stop' | 'restart';

const FAILED: Readonly<Record<Verb, TextKey>> = {
  start: 'couldNotStart',
  stop: 'couldNotStop',
  restart: 'couldNotRestart',
};

/** How long a restart is confirmed, as nothing else would show it. */
const SAID_MS = 2000;

export interface UnitCommands {
  /** The command in progress, or accepted just now. */
  readonly verb: Verb | undefined;
  readonly hasRestarted: boolean;
  readonly run: (verb: Verb) => void;
}

export function useUnitCommands(node: Tonearm, unit: ServiceRecord, title: string): UnitCommands {
  const { scope, name, active_state } = unit;
  const reporter = useContext(Reporting);
  const [verb, setVerb] = useState<Verb>();
  const [hasRestarted, setRestarted] = useState(false);
  /** Counts commands: the result of an older one is ignored, as the newer one may have cancelled it. */
  const turn = useRef(0);
  const isAccepted = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useMended(translate('couldNotStart', { name: title }), active_state === 'active');
  useMended(translate('couldNotRestart', { name: title }), active_state === 'active');
  useMended(translate('couldNotStop', { name: title }), active_state === 'inactive');
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    // The unit has reached the wanted state, or another one.
    if (isAccepted.current) setVerb(undefined);
  }, [active_state]);
  const run = (wanted: Verb): void => {
    turn.current += 1;
    const mine = turn.current;
    isAccepted.current = false;
    clearTimeout(timer.current);
    setVerb(wanted);
    setRestarted(false);
    const accepted = (): void => {
      isAccepted.current = true;
      setRestarted(wanted === 'restart');
      timer.current = setTimeout(
        () => {
          setVerb(undefined);
          setRestarted(false);
        },
        wanted === 'restart' ? SAID_MS : SETTLE_MS,
      );
    };
    const refused = (error: unknown): void => {
      reporter.failed(translate(FAILED[wanted], { name: title }), error);
      setVerb(undefined);
    };
    const { startUnit, stopUnit, restartUnit } = node;
    const send = { start: startUnit, stop: stopUnit, restart: restartUnit }[wanted];
    send(scope, name).then(
      () => mine === turn.current && accepted(),
      (error: unknown) => mine === turn.current && refused(error),
    );
  };
  return { verb, hasRestarted, run };
}
