// Draws the sheet that is open while a phone can be paired. The sheet shows how many seconds are left.

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
  /** True while Bluetooth or the node is away. Nothing can pair then, and the record may be outdated. */
  readonly isAway: boolean;
}

/**
 * The sheet opens by itself. A sheet that was closed stays closed, even if Bluetooth or the node has been
 * away. The component exists only during a pairing (app.tsx), so the next pairing opens a new sheet.
 */
export function Pairing({ adapter, isAway }: PairingProps) {
  const [isClosed, setClosed] = useState(false);
  if (isClosed || isAway) return null;
  return (
    <Sheet title={translate('pairingStart')} onClose={() => setClosed(true)}>
      <Countdown adapter={adapter} />
    </Sheet>
  );
}

function Countdown({ adapter }: Pick<PairingProps, 'adapter'>) {
  const node = useNode();
  const seconds = useSecondsUntil(adapter.pairing_until ?? '');
  // The ring is full at its first drawing, because a page that is opened during a pairing does not know when
  // the pairing began.
  const [totalSeconds] = useState(seconds);
  return (
    <div class="pairing">
      <div class="ring" style={{ '--left': totalSeconds === 0 ? 0 : seconds / totalSeconds }}>
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

/** The seconds until `time`; 0 after that time, and for a text that is no time. */
function useSecondsUntil(time: string): number {
  const live = useLive();
  useTicks(SECOND_MS);
  const leftMs = Date.parse(time) - live.nodeTime();
  return leftMs > 0 ? Math.ceil(leftMs / SECOND_MS) : 0;
}
