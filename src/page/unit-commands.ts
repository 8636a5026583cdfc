// The commands that this page has sent to a unit: shown until systemd reports the change. A newer command never waits for an older one.

import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { ServiceRecord } from '../client/client.js';
import { SETTLE_MS } from './control.js';
import { translate } from './language.js';
import { node } from './node.js';
import { Reporting, useMended } from './notices.js';

export type Verb = 'start' | 'stop' | 'restart';

const FAILED = { start: 'couldNotStart', stop: 'couldNotStop', restart: 'couldNotRestart' } as const;

/** How long a restart is confirmed, as nothing else would show it. */
const SAID_MS = 2000;

interface UnitCommand {
  readonly verb: Verb;
  readonly isAccepted: boolean;
}

export interface UnitCommands {
  /** The command in progress, or accepted just now. */
  readonly verb: Verb | undefined;
  readonly hasRestarted: boolean;
  readonly run: (verb: Verb) => void;
}

export function useUnitCommands({ scope, name, active_state }: ServiceRecord, title: string): UnitCommands {
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
  useEffect(() => {
    if (!isAccepted) return undefined;
    const timer = setTimeout(() => setCommand(undefined), hasRestarted ? SAID_MS : SETTLE_MS);
    return () => clearTimeout(timer);
  }, [command]);
  useEffect(() => {
    // The unit has reached the wanted state, or another one.
    if (isAccepted && !hasRestarted) setCommand(undefined);
  }, [active_state]);
  const run = (wanted: Verb): void => {
    const mine = { verb: wanted, isAccepted: false };
    newest.current = mine;
    setCommand(mine);
    const send = { start: node.startUnit, stop: node.stopUnit, restart: node.restartUnit }[wanted];
    const work = send(scope, name).catch((error: unknown) => {
      if (mine === newest.current) throw error;
    });
    void report(translate(FAILED[wanted], titles), work).then((isDone) => {
      if (mine === newest.current) setCommand(isDone ? { verb: wanted, isAccepted: true } : undefined);
    });
  };
  return { verb, hasRestarted, run };
}
