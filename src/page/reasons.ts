// Short reasons for failed actions, and for backends that are away: events contain these, but the snapshot at the start of a stream does
// not, so they are fetched from `/health`.

import { useEffect, useState } from 'preact/hooks';
import type { BackendInfo, ChildName, NodeState, ProblemError } from '../client/client.js';
import { translate } from './language.js';
import { node } from './node.js';
import type { TextKey } from './texts.js';

const REASONS: ReadonlyMap<string, TextKey> = new Map([
  ['unavailable', 'becauseAway'],
  ['timeout', 'becauseSilent'],
  ['inhibited', 'becauseBusy'],
  ['run-in-progress', 'becauseBusy'],
  ['in-progress', 'becauseBusy'],
  ['not-able', 'becauseForbidden'],
  ['not-granted', 'becauseForbidden'],
  ['capability-off', 'becauseForbidden'],
  ['unreachable', 'becauseLost'],
  ['silent', 'becauseLost'],
  ['offline', 'becauseLost'],
  ['bye', 'becauseLost'],
]);

/** In systemd's texts about a process: `code=exited, status=1/FAILURE`. */
const EXIT_STATUS = /\bstatus=(\d+)/;

/** Undefined if only the problem's own text says more. */
export function reasonFor({ code, problem }: ProblemError): string | undefined {
  const status = EXIT_STATUS.exec(problem.detail)?.[1];
  if (status !== undefined) return translate('exitStatus', { status });
  const reason = REASONS.get(code);
  return reason && translate(reason);
}

type Backends = NodeState['backends'];

/** The same backends, with their reasons as soon as these are known; `hasNoSoundCard`: also why the sound server has no card. */
export function useReasons(backends: Backends, hasNoSoundCard: boolean): Backends {
  const [known, setKnown] = useState<readonly [of: Backends, explained: Backends]>();
  useEffect(() => {
    const isUnexplained = ([name, { state, detail }]: readonly [ChildName, BackendInfo]): boolean =>
      detail === undefined && (state !== 'up' || (name === 'audio' && hasNoSoundCard));
    if (![...backends].some(isUnexplained)) return;
    node.health().then(
      (health) => {
        const explained = [...backends].map((each) => {
          const [name, info] = each;
          const detail = isUnexplained(each) ? health.backends[name]?.detail : info.detail;
          return [name, detail === undefined ? info : { ...info, detail }] as const;
        });
        setKnown([backends, new Map(explained)]);
      },
      // Its state is shown anyway, without a reason.
      () => undefined,
    );
  }, [backends, hasNoSoundCard]);
  return known?.[0] === backends ? known[1] : backends;
}
