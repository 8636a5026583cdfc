// The sheet while a phone can be paired: the name to choose on it, and a ring with the seconds that are left.

import { useState } from 'preact/hooks';
import type { BluetoothRecord } from '../client/client.js';
import { ActionButton } from './controls.js';
import { translate } from './language.js';
import { useLive, useNode } from './node.js';
import { useTicks } from './parts.js';
import { Sheet } from './sheet.js';

const SECOND_MS = 1000;

interface PairingProps {
  readonly adapter: BluetoothRecord;
}

/** Drawn while a phone can be paired. Opens by itself, whoever has begun; once closed it stays so. */
export function Pairing({ adapter }: PairingProps) {
  const [isClosed, setClosed] = useState(false);
  if (isClosed) return null;
  return (
    <Sheet title={translate('pairingStart')} onClose={() => setClosed(true)}>
      <Countdown adapter={adapter} />
    </Sheet>
  );
}

function Countdown({ adapter }: PairingProps) {
  const node = useNode();
  const seconds = useSecondsUntil(adapter.pairing_until ?? '');
  // The whole time is not known to a page that was opened later.
  const [whole] = useState(seconds);
  return (
    <div class="pairing">
      <div class="ring" style={{ '--left': whole === 0 ? 0 : seconds / whole }}>
        <svg viewBox="0 0 100 100" aria-hidden="true" focusable="false">
          <circle cx="50" cy="50" r="46" />
          <circle cx="50" cy="50" r="46" />
        </svg>
        <span role="timer">{translate('seconds', { count: seconds })}</span>
      </div>
      <p>{translate('pairingNow')}</p>
      <p class="title">
        <bdi>{adapter.name}</bdi>
      </p>
      <ActionButton send={() => node.stopPairing()}>{translate('pairingStop')}</ActionButton>
    </div>
  );
}

function useSecondsUntil(time: string): number {
  const live = useLive();
  useTicks(SECOND_MS);
  return Math.max(0, Math.ceil((Date.parse(time) - live.nodeTime()) / SECOND_MS)) || 0;
}
