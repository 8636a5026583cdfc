// Short reasons for failed actions, and for backends that are away: events contain these, but the snapshot at the start of a stream does
// not, so they are fetched from `/health`.

import { useEffect, useState } from 'preact/hooks';
import type { BackendInfo, ChildName, NodeState, ProblemError, Tonearm } from '../client/client.js';
import type { TextKey } from './english.js';
import { translate } from './language.js';

const REASONS: Readonly<Record<string, TextKey>> = {
  unavailable: 'becauseAway',
  timeout: 'becauseSilent',
  inhibited: 'becauseBusy',
  'run-in-progress': 'becauseBusy',
  'in-progress': 'becauseBusy',
  'not-able': 'becauseForbidden',
  'not-granted': 'becauseForbidden',
  'capability-off': 'becauseForbidden',
  unreachable: 'becauseLost',
  silent: 'becauseLost',
  offline: 'becauseLost',
  bye: 'becauseLost',
};

/** In systemd's texts about a process: `code=exited, status=1/FAILURE`. */
const EXIT_STATUS = /\bstatus=(\d+)/;

/** Undefined if only the problem's own text says more. */
export function reasonFor({ code, problem }: ProblemError): string | undefined {
  const status = EXIT_STATUS.exec(problem.detail)?.[1];
  if (status !== undefined) return translate('exitStatus', { status });
  const reason = Object.hasOwn(REASONS, code) ? REASONS[code] : undefined;
  return reason === undefined ? undefined : translate(reason);
}

type BackendStates = NodeState['backends'];

/** The same backends, with their reasons as soon as these are known; `hasNoSoundCard`: also why the sound server has no card. */
export function useReasons(node: Tonearm, backends: BackendStates, hasNoSoundCard: boolean): BackendStates {
  const [known, setKnown] = useState<{ readonly of: BackendStates; readonly with: BackendStates }>();
  useEffect(() => {
    const isUnexplained = (name: ChildName, { state, detail }: BackendInfo): boolean =>
      detail === undefined && (state !== 'up' || (name === 'audio' && hasNoSoundCard));
    if (![...backends].some(([name, info]) => isUnexplained(name, info))) return;
    node.health().then(
      ({ backends: known }) => {
        const explained = [...backends].map(([name, info]) => {
          const detail = known[name]?.detail;
          return [
            name,
            isUnexplained(name, info) && detail !== undefined ? { ...info, detail } : info,
          ] as const;
        });
        setKnown({ of: backends, with: new Map(explained) });
      },
      // Its state is shown anyway, without a reason.
      () => undefined,
    );
  }, [node, backends, hasNoSoundCard]);
  return known?.of === backends ? known.with : backends;
}
