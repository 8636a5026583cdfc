// The node's upgrade: installed and available version, progress while it runs, and the result of the last run.

import { useRef, useState } from 'preact/hooks';
import type { NodeState, Tonearm, UpgradeCheck, UpgradeRun } from '../client/client.js';
import { useAction } from './controls.js';
import { formatTime, isolated, translate } from './language.js';
import { memoized } from './parts.js';
import { Question, useQuestion } from './question.js';
import { UnitLog } from './unit-log.js';

type Upgrade = NonNullable<NodeState['upgrade']>;

interface UpgradeProps {
  readonly node: Tonearm;
  readonly upgrade: Upgrade;
}

export const UpgradeCard = memoized(({ node, upgrade }: UpgradeProps) => {
  const { current = '', latest = '', upgrade_available, checked_at, can_check, can_upgrade } = upgrade;
  const { run = { state: 'idle' }, check } = upgrade;
  const isRunning = run.state === 'running';
  const [isLogOpen, openLog] = useState(false);
  const checkedAt = check?.finished_at ?? checked_at;
  return (
    <div class="card">
      <p class="strong wrap">
        {isRunning
          ? translate('upgrading')
          : upgrade_available
            ? translate('available', { version: isolated(latest) })
            : translate(current === '' ? 'unknownVersion' : 'upToDate')}
      </p>
      {current === '' ? null : (
        <p class="quiet wrap">{translate('installed', { version: isolated(current) })}</p>
      )}
      {isRunning ? <Progress {...run} /> : <LastRun run={run} />}
      {isRunning ? null : <LastCheckLine check={check} at={checkedAt} />}
      {run.state === 'failed' && can_upgrade ? (
        <UnitLog
          read={() => node.upgradeLog()}
          state={run.finished_at}
          hasFailed
          title={translate('upgrade')}
          isOpen={isLogOpen}
          open={openLog}
        />
      ) : null}
      {isRunning ? null : (
        <div class="row wrap-row">
          {can_upgrade && upgrade_available ? <UpgradeButton node={node} latest={latest} /> : null}
          {can_check ? <CheckButton node={node} isRunning={check?.state === 'running'} /> : null}
        </div>
      )}
    </div>
  );
});

function UpgradeButton({ node, latest }: { readonly node: Tonearm; readonly latest: string }) {
  const text =
    latest === '' ? translate('upgradeAny') : translate('upgradeNow', { version: isolated(latest) });
  const { open, ...question } = useQuestion(() => node.startUpgrade(), translate('couldNotUpgrade'));
  return (
    <>
      <button type="button" class="button small main" onClick={open}>
        <span class="clip">{text}</span>
      </button>
      <Question
        {...question}
        id="upgrade"
        ask={
          latest === '' ? translate('upgradeAnyAsk') : translate('upgradeAsk', { version: isolated(latest) })
        }
        explanation={translate('upgradeTell')}
        yes={text}
      />
    </>
  );
}

function CheckButton({ node, isRunning }: { readonly node: Tonearm; readonly isRunning: boolean }) {
  const [isUnderWay, begin] = useAction(() => node.checkUpgrade(), translate('couldNotCheck'));
  const isLooking = isUnderWay || isRunning;
  return (
    <button type="button" class="button small" aria-busy={isLooking} onClick={() => isLooking || begin()}>
      {translate(isLooking ? 'checking' : 'check')}
    </button>
  );
}

interface LastCheckProps {
  readonly check: UpgradeCheck | undefined;
  readonly at: string | undefined;
}

function LastCheckLine({ check, at }: LastCheckProps) {
  if (check?.state === 'failed')
    return (
      <p class="bad-text wrap" role="status">
        {check.detail === undefined
          ? translate('couldNotCheck')
          : translate('because', { what: translate('couldNotCheck'), reason: isolated(check.detail) })}
      </p>
    );
  return at === undefined ? null : <p class="quiet">{translate('checkedAt', { time: formatTime(at) })}</p>;
}

function Progress({ percent, step }: UpgradeRun) {
  return (
    <div class="under-way" role="status">
      <div class="row">
        <progress
          class="grow"
          max={100}
          aria-label={translate('upgrading')}
          {...(percent === undefined ? {} : { value: percent })}
        />
        {percent === undefined ? null : (
          <span class="slider-text">{translate('percent', { value: percent })}</span>
        )}
      </div>
      {step === undefined ? null : (
        <p class="quiet wrap">{translate('upgradeStep', { step: isolated(step) })}</p>
      )}
    </div>
  );
}

function LastRun({ run: { state, step, finished_at } }: { readonly run: UpgradeRun }) {
  if (finished_at === undefined) return null;
  const time = formatTime(finished_at);
  if (state !== 'failed') return <p class="quiet">{translate('upgradeDone', { time })}</p>;
  return (
    <p class="bad-text wrap">
      {step === undefined
        ? translate('upgradeFailed', { time })
        : translate('upgradeFailedAt', { time, step: isolated(step) })}
    </p>
  );
}

/** Adds the last known step of this run, which a service that has restarted or failed no longer knows. */
export function useSteps(upgrade: NodeState['upgrade']): NodeState['upgrade'] {
  const last = useRef<UpgradeRun | undefined>(undefined);
  const run = upgrade?.run;
  if (run?.state === 'running' && run.step !== undefined) last.current = run;
  const { current } = last;
  if (run === undefined || run.step !== undefined || current === undefined) return upgrade;
  if (run.state === 'idle' || run.started_at !== current.started_at) return upgrade;
  const { percent, step } = current;
  return { ...upgrade, run: { ...run, ...(step && { step }), ...(percent !== undefined && { percent }) } };
}
