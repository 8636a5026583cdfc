// Why a backend is away: events tell it, and the snapshot with which a stream begins does not, so that it is asked for.

import { useEffect, useState } from 'preact/hooks';
import type { BackendInfo, NodeState, Tonearm } from '../client/client.js';

type BackendStates = NodeState['backends'];

/** The same backends, with their reasons as soon as these are known. */
export function useReasons(node: Tonearm, backends: BackendStates): BackendStates {
  const [known, setKnown] = useState<{ readonly of: BackendStates; readonly with: BackendStates }>();
  useEffect(() => {
    if (![...backends.values()].some(isUnexplained)) return;
    node.health().then(
      ({ backends: told }) => {
        const explained = [...backends].map(([name, info]) => {
          const detail = told[name]?.detail;
          return [name, isUnexplained(info) && detail !== undefined ? { ...info, detail } : info] as const;
        });
        setKnown({ of: backends, with: new Map(explained) });
      },
      // That it is away is said all the same.
      () => undefined,
    );
  }, [node, backends]);
  return known?.of === backends ? known.with : backends;
}

function isUnexplained({ state, detail }: BackendInfo): boolean {
  return state !== 'up' && detail === undefined;
}
