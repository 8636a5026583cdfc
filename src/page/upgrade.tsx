// Draws the section of the node's upgrades: the versions, the progress of a run, the results of the last run
// and of the last check, the log, and the buttons.

import type { NodeState, UpgradeCheck, UpgradeRun } from '../client/client.js';
import { useAction } from './controls.js';
import { Button } from './icons.js';
import { formatPercent, isolated, translate } from './language.js';
import { IfMayChange } from './may-change.js';
import { useNode } from './node.js';
import { QuestionButton } from './question.js';
import { formatTime } from './time.js';
import { UnitLog } from './unit-log.js';

export function UpgradeCard({ upgrade }: Pick<NodeState, 'upgrade'>) {
  const node = useNode();
  if (upgrade === undefined) return null;
  const { current = '', latest = '', upgrade_available, checked_at, can_check, can_upgrade } = upgrade;
  const { run = { state: 'idle' }, check } = upgrade;
  const isRunning = run.state === 'running';
  // The log is that of the unit that upgrades the node. Without `can_upgrade` there is no such unit.
  const isLogOffered = run.state === 'failed' && can_upgrade === true;
  return (
    <div class="card">
      <p class="strong wrap">{headline(upgrade)}</p>
      {current === '' ? null : (
        <p class="quiet wrap">{translate('installed', { version: isolated(current) })}</p>
      )}
      {isRunning ? <Progress {...run} /> : <LastRun {...run} />}
      {isRunning ? null : <LastCheckLine check={check} checkedAt={check?.finished_at ?? checked_at} />}
      <UnitLog
        read={() => node.upgradeLog()}
        readAgainOn={run.finished_at}
        showsFailure
        title={translate('upgrade')}
        isOffered={isLogOffered}
      />
      {isRunning ? null : (
        <div class="row wrap-row">
          {can_upgrade && upgrade_available ? <UpgradeButton latest={latest} /> : null}
          {can_check ? <CheckButton isNodeChecking={check?.state === 'running'} /> : null}
        </div>
      )}
    </div>
  );
}

function headline(upgrade: NonNullable<NodeState['upgrade']>): string {
  const { current = '', latest = '', upgrade_available, run } = upgrade;
  if (run?.state === 'running') return translate('upgrading');
  if (upgrade_available) return translate('available', { version: isolated(latest) });
  return translate(current === '' ? 'unknownVersion' : 'upToDate');
}

/** This needs no `IfMayChange`, because `QuestionButton` contains one. */
function UpgradeButton({ latest }: { readonly latest: string }) {
  const node = useNode();
  const values = { version: isolated(latest) };
  const isVersionKnown = latest !== '';
  const text = isVersionKnown ? translate('upgradeNow', values) : translate('upgradeAny');
  return (
    <QuestionButton
      class="main"
      text={text}
      question={isVersionKnown ? translate('upgradeAsk', values) : translate('upgradeAnyAsk')}
      explanation={translate('upgradeEffect')}
      confirm={text}
      failureTitle={translate('couldNotUpgrade')}
      send={() => node.startUpgrade()}
    />
  );
}

function CheckButton({ isNodeChecking }: { readonly isNodeChecking: boolean }) {
  const node = useNode();
  const [isRequestPending, begin] = useAction(() => node.checkUpgrade(), translate('couldNotCheck'));
  const isChecking = isRequestPending || isNodeChecking;
  return (
    <IfMayChange>
      <Button
        isBusy={isChecking}
        // A press during a check is ignored. A disabled button would lose the focus.
        onClick={() => {
          if (!isChecking) begin();
        }}
      >
        {translate(isChecking ? 'checking' : 'check')}
      </Button>
    </IfMayChange>
  );
}

interface LastCheckProps {
  readonly check: UpgradeCheck | undefined;
  /**
   * The time at which the last check ended. If the node does not know that time, this is `checked_at` of the
   * result file (docs/upgrades.md).
   */
  readonly checkedAt: string | undefined;
}

function LastCheckLine({ check, checkedAt }: LastCheckProps) {
  const what = translate('couldNotCheck');
  if (check?.state === 'failed')
    return (
      <p class="bad-text wrap" role="status">
        {check.detail === undefined ? what : translate('because', { what, reason: isolated(check.detail) })}
      </p>
    );
  if (checkedAt === undefined) return null;
  return <p class="quiet">{translate('checkedAt', { time: formatTime(checkedAt) })}</p>;
}

function Progress({ percent, step }: UpgradeRun) {
  // A progress bar without a value shows only that something is under way.
  const valueProperty = percent === undefined ? {} : { value: percent };
  return (
    <div class="under-way" role="status">
      <div class="row">
        <progress class="grow" max={100} aria-label={translate('upgrading')} {...valueProperty} />
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
  const key = step === undefined ? 'upgradeFailed' : 'upgradeFailedAt';
  return <p class="bad-text wrap">{translate(key, { time, step: isolated(step ?? '') })}</p>;
}
