// Shows how to play on this node from a computer: the lines that have to be typed there. Nothing is drawn
// unless the sound server is open to the network.

import { useEffect, useState } from 'preact/hooks';
import type { NetworkRecord, NodeState } from '../client/client.js';
import { translate } from './language.js';
import { useNode } from './node.js';

const SERVERS = { pulseaudio: 'PulseAudio', pipewire: 'PipeWire' } as const;

export function PlayFromComputer({ backends }: Pick<NodeState, 'backends'>) {
  const network = useNetwork(backends.get('audio')?.state === 'up');
  if (network === undefined || !network.enabled || network.commands.length === 0) return null;
  return (
    <details class="card computer">
      <summary>{translate('fromComputer')}</summary>
      <p class="quiet">{whoMayPlay(network)}</p>
      {network.commands.map(({ for: server, use, lines }) => (
        <div key={`${server} ${use}`}>
          <h3>
            {translate(use === 'program' ? 'computerProgram' : 'computerOutput', {
              server: SERVERS[server],
            })}
          </h3>
          {lines.map((line) => (
            <pre key={line} class="log">
              {line}
            </pre>
          ))}
        </div>
      ))}
    </details>
  );
}

/**
 * Requests the record again when the sound server comes back, because a server opens its port at its start.
 */
function useNetwork(isUp: boolean): NetworkRecord | undefined {
  const node = useNode();
  const [network, setNetwork] = useState<NetworkRecord>();
  useEffect(() => {
    let isCurrent = true;
    const show = (answer: NetworkRecord | undefined): void => {
      if (isCurrent) setNetwork(answer);
    };
    // If the request fails, nothing is drawn, as if the sound server were closed.
    if (isUp) node.network().then(show, () => show(undefined));
    else show(undefined);
    return () => {
      isCurrent = false;
    };
  }, [node, isUp]);
  return network;
}

/** The sentence that says which computers may play here. */
function whoMayPlay({ cookie, allowed = [] }: NetworkRecord): string {
  if (cookie === 'required') return translate('computerWithCookie');
  if (cookie === 'by_address') return translate('computerByAddress', { networks: allowed.join(', ') });
  return translate('computerUnlocked');
}
