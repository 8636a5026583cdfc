// The node's upgrade: which version runs, which one could, the way to it while it is under way, and how the last one ended.

import type { Tonearm, UpgradeRecord, UpgradeRun } from '../client/client.js';
import { ActionButton } from './controls.js';
import { say, sayTime } from './language.js';
import { still } from './parts.js';

interface UpgradeProps {
  readonly node: Tonearm;
  readonly upgrade: Partial<UpgradeRecord>;
}

export const UpgradeCard = still(({ node, upgrade }: UpgradeProps) => {
  const { current = '', latest = '', upgrade_available, checked_at, can_check, can_upgrade } = upgrade;
  const { run = { state: 'idle' } } = upgrade;
  const isRunning = run.state === 'running';
  return (
    <div class="card">
      <p class="strong wrap">
        {isRunning
          ? say('upgrading')
          : upgrade_available
            ? say('available', { version: bidi(latest) })
            : say(current === '' ? 'unknownVersion' : 'upToDate')}
      </p>
      {current === '' ? null : <p class="quiet wrap">{say('installed', { version: bidi(current) })}</p>}
      {isRunning ? <Progress {...run} /> : <LastRun run={run} />}
      {checked_at === undefined || isRunning ? null : (
        <p class="quiet">{say('checkedAt', { time: sayTime(checked_at) })}</p>
      )}
      {isRunning ? null : (
        <div class="row wrap-row">
          {can_upgrade ? (
            <ActionButton
              class={`button ${upgrade_available ? 'main' : ''}`}
              send={() => node.startUpgrade()}
            >
              <span class="clip">
                {upgrade_available && latest !== ''
                  ? say('upgradeNow', { version: bidi(latest) })
                  : say('upgradeAny')}
              </span>
            </ActionButton>
          ) : null}
          {can_check ? <ActionButton send={() => node.checkUpgrade()}>{say('check')}</ActionButton> : null}
        </div>
      )}
    </div>
  );
});

/** Within a sentence: the marks that `bdi` stands for. */
function bidi(text: string): string {
  return `\u2068${text}\u2069`;
}

function Progress({ percent, step }: UpgradeRun) {
  return (
    <div class="under-way" role="status">
      <div class="row">
        <progress
          class="grow"
          max={100}
          aria-label={say('upgrading')}
          {...(percent === undefined ? {} : { value: percent })}
        />
        {percent === undefined ? null : <span class="slider-text">{say('percent', { value: percent })}</span>}
      </div>
      {step === undefined ? null : <p class="quiet wrap">{say('upgradeStep', { step: bidi(step) })}</p>}
    </div>
  );
}

function LastRun({ run: { state, finished_at } }: { readonly run: UpgradeRun }) {
  if (finished_at === undefined) return null;
  const time = sayTime(finished_at);
  return state === 'failed' ? (
    <p class="bad-text">{say('upgradeFailed', { time })}</p>
  ) : (
    <p class="quiet">{say('upgradeDone', { time })}</p>
  );
}
