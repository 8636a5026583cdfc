// The node's upgrade: installed and available version, progress while it runs, and the result of the last
// run.

import type { NodeState, UpgradeCheck, UpgradeRun } from '../client/client.js';
import { useAction } from './controls.js';
import { Button } from './icons.js';
import { formatPercent, formatTime, isolated, translate } from './language.js';
import { Changing } from './may-change.js';
import { useNode } from './node.js';
import { QuestionButton } from './question.js';
import { UnitLog } from './unit-log.js';

export function UpgradeCard({ upgrade }: Pick<NodeState, 'upgrade'>) {
  const node = useNode();
  if (upgrade === undefined) return null;
  const { current = '', latest = '', upgrade_available, checked_at, can_check, can_upgrade } = upgrade;
  const { run = { state: 'idle' }, check } = upgrade;
  const isRunning = run.state === 'running';
  const version = isolated(latest);
  return (
    <div class="card">
      <p class="strong wrap">
        {isRunning
          ? translate('upgrading')
          : upgrade_available
            ? translate('available', { version })
            : translate(current === '' ? 'unknownVersion' : 'upToDate')}
      </p>
      {current === '' ? null : (
        <p class="quiet wrap">{translate('installed', { version: isolated(current) })}</p>
      )}
      {isRunning ? <Progress {...run} /> : <LastRun {...run} />}
      {isRunning ? null : <LastCheck check={check} at={check?.finished_at ?? checked_at} />}
      <UnitLog
        read={() => node.upgradeLog()}
        state={run.finished_at}
        hasFailed
        title={translate('upgrade')}
        isOffered={run.state === 'failed' && can_upgrade === true}
      />
      {isRunning ? null : (
        <div class="row wrap-row">
          {can_upgrade && upgrade_available ? <UpgradeButton latest={latest} /> : null}
          {can_check ? <CheckButton isRunning={check?.state === 'running'} /> : null}
        </div>
      )}
    </div>
  );
}

function UpgradeButton({ latest }: { readonly latest: string }) {
  const node = useNode();
  const version = { version: isolated(latest) };
  const isKnown = latest !== '';
  const text = isKnown ? translate('upgradeNow', version) : translate('upgradeAny');
  return (
    <QuestionButton
      class="main"
      text={text}
      ask={isKnown ? translate('upgradeAsk', version) : translate('upgradeAnyAsk')}
      explanation={translate('upgradeEffect')}
      yes={text}
      failed={translate('couldNotUpgrade')}
      send={() => node.startUpgrade()}
    />
  );
}

function CheckButton({ isRunning }: { readonly isRunning: boolean }) {
  const node = useNode();
  const [isUnderWay, begin] = useAction(() => node.checkUpgrade(), translate('couldNotCheck'));
  const isChecking = isUnderWay || isRunning;
  return (
    <Changing>
      <Button isBusy={isChecking} onClick={() => isChecking || begin()}>
        {translate(isChecking ? 'checking' : 'check')}
      </Button>
    </Changing>
  );
}

function LastCheck({ check, at }: Readonly<{ check: UpgradeCheck | undefined; at: string | undefined }>) {
  const what = translate('couldNotCheck');
  if (check?.state === 'failed')
    return (
      <p class="bad-text wrap" role="status">
        {check.detail === undefined ? what : translate('because', { what, reason: isolated(check.detail) })}
      </p>
    );
  return at === undefined ? null : <p class="quiet">{translate('checkedAt', { time: formatTime(at) })}</p>;
}

function Progress({ percent, step }: UpgradeRun) {
  const value = percent === undefined ? {} : { value: percent };
  return (
    <div class="under-way" role="status">
      <div class="row">
        <progress class="grow" max={100} aria-label={translate('upgrading')} {...value} />
        {percent === undefined ? null : <span class="slider-text">{formatPercent(percent / 100)}</span>}
      </div>
      {step === undefined ? null : (
        <p class="quiet wrap">{translate('upgradeStep', { step: isolated(step) })}</p>
      )}
    </div>
  );
}

function LastRun({ state, step, finished_at }: UpgradeRun) {
  if (finished_at === undefined) return null;
  const time = formatTime(finished_at);
  if (state !== 'failed') return <p class="quiet">{translate('upgradeDone', { time })}</p>;
  const text = step === undefined ? 'upgradeFailed' : 'upgradeFailedAt';
  return <p class="bad-text wrap">{translate(text, { time, step: isolated(step ?? '') })}</p>;
}
