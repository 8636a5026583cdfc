// Draws the lines that a person types on a computer, so that the computer plays on this node. Draws nothing
// while the sound server is away or closed to the network.

import { useEffect, useState } from 'preact/hooks';
import type { NetworkRecord, NodeState } from '../client/client.js';
import { translate } from './language.js';
import { useNode } from './node.js';

const SERVER_NAMES = { pulseaudio: 'PulseAudio', pipewire: 'PipeWire' } as const;

export function PlayFromComputer({ backends }: Pick<NodeState, 'backends'>) {
  const network = useNetworkRecord(backends.get('audio')?.state === 'up');
  if (network === undefined || !network.enabled || network.commands.length === 0) return null;
  return (
    <details class="card computer">
      <summary>{translate('fromComputer')}</summary>
      <p class="quiet">{whoMayPlay(network)}</p>
      {network.commands.map(({ for: server, use, lines }) => (
        <div key={`${server} ${use}`}>
          <h3>
            {translate(use === 'program' ? 'computerProgram' : 'computerOutput', {
              server: SERVER_NAMES[server],
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
 * Requests the record whenever the sound server comes up, because this server opens its port when it starts.
 */
function useNetworkRecord(isSoundServerUp: boolean): NetworkRecord | undefined {
  const node = useNode();
  const [network, setNetwork] = useState<NetworkRecord>();
  useEffect(() => {
    // This controller is only a flag. It does not end the request, but an answer after `abort` is ignored.
    const effect = new AbortController();
    const show = (answer: NetworkRecord | undefined): void => {
      if (!effect.signal.aborted) setNetwork(answer);
    };
    // If the request fails, nothing is drawn, as if the sound server were closed.
    if (isSoundServerUp) node.network().then(show, () => show(undefined));
    else show(undefined);
    return () => effect.abort();
  }, [node, isSoundServerUp]);
  return network;
}

function whoMayPlay({ cookie, allowed = [] }: NetworkRecord): string {
  if (cookie === 'required') return translate('computerWithCookie');
  if (cookie === 'by_address') return translate('computerByAddress', { networks: allowed.join(', ') });
  return translate('computerUnlocked');
}
