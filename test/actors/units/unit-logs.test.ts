// Tests the answers for the log of a unit, and when a run counts as stopped. Scripts stand in for journalctl,
// so that it fails, hangs or writes without end. test/node/scenarios/systemd-logs.ts has the tests with the
// real journalctl.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { UnitLogs } from '../../../src/actors/units/unit-logs.js';
import { systemClock } from '../../../src/host/clock.js';
import type { Answer, UnitScope } from '../../../src/protocol/actor/commands.js';
import { ManualClock } from '../../manual-clock.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';

const folder = temporaryFolder({ after });

/** Writes a shell script that stands in for journalctl, and returns its path. */
function writeScript(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o700 });
  return path;
}

const ENTRY = `{"__REALTIME_TIMESTAMP":"1790000000000000","PRIORITY":"4","MESSAGE":"hello"}`;
/** The deadline of a reading (unit-logs.ts). */
const READING_MAX_MS = 9_000;
const NO_FILES = 'No journal files were opened due to insufficient permissions.';

const answerText = (answer: Answer): string =>
  answer.ok ? (answer.value.text ?? '') : `${answer.error.fault}: ${answer.error.detail}`;
/** Folders without a journal, because the test's user may not be allowed to read the machine's journal. */
const JOURNAL_FOLDERS = { user: [folder], system: [folder] };
const readLog = async (program: string, scope: UnitScope = 'user'): Promise<string> => {
  const logs = new UnitLogs(systemClock, program, JOURNAL_FOLDERS);
  return answerText(await logs.read({ scope, unit: 'x.service', lines: 20 }));
};

/**
 * The script in the place of journalctl, and the answers for a unit of the user and for a unit of the system.
 * If the output is too long, it is cut, and the answer has the entries before the cut. If journalctl fails,
 * the answer has no entries.
 */
const ROWS: readonly (readonly [what: string, script: string, forUser: RegExp, forSystem: RegExp])[] = [
  ['writes entries', `echo '${ENTRY}'`, /^\[\{.*hello"\}\]$/, /hello/],
  ['finds nothing', 'true', /^\[\]$/, /^\[\]$/],
  [
    'is not allowed to open any file',
    `echo '${NO_FILES}' >&2; exit 1`,
    /^not-granted: .*systemd-journal/,
    /^not-granted/,
  ],
  ['fails', 'echo Bad >&2; echo message >&2; exit 3', /^refused: .*status 3: Bad; message$/, /refused/],
  ['is killed', 'kill -KILL $$', /^refused: .*by SIGKILL$/, /refused/],
  ['is killed after an entry', `echo '${ENTRY}'; kill -KILL $$`, /^refused/, /^refused/],
  ['writes without end', `echo '${ENTRY}'; exec yes`, /^\[\{.*hello"\}\]$/, /hello/],
  ['writes one message without end', 'exec tr "\\0" x < /dev/zero', /^refused: .*1048576 bytes/, /refused/],
];
for (const [index, [what, script, forUser, forSystem]] of ROWS.entries()) {
  test(`the answer is right for a journalctl that ${what}`, async () => {
    const program = writeScript(`row-${index}`, script);
    assert.match(await readLog(program, 'user'), forUser);
    assert.match(await readLog(program, 'system'), forSystem);
  });
}

test('if journalctl is missing or not executable, the answer says that it cannot be started', async () => {
  assert.match(await readLog(join(folder, 'none')), /^refused: journalctl cannot be started: .*ENOENT/);
  assert.match(await readLog(folder), /^refused: journalctl cannot be started: .*EACCES/);
});

test('a run counts as stopped if systemd has logged its stop, unless the unit is oneshot and the end of the start is logged, too', async () => {
  const logStart = `echo '{"JOB_TYPE":"start"}'`;
  const logStop = `echo '{"JOB_TYPE":"stop"}'`;
  const logNothing = 'true';
  const rows: readonly (readonly [script: string, isOneshot: boolean, expected: boolean])[] = [
    [logStop, true, true],
    [`${logStart}; ${logStop}`, true, false],
    [`${logStart}; ${logStop}`, false, true],
    [logStart, false, false],
    [logNothing, true, false],
    ['exit 1', true, false],
  ];
  for (const [index, [script, isOneshot, expected]] of rows.entries()) {
    const logs = new UnitLogs(systemClock, writeScript(`stopped-${index}`, script));
    assert.equal(await logs.wasStopped('0123', isOneshot), expected, `${script}, oneshot: ${isOneshot}`);
  }
});

test('journalctl is started without a shell: the name of a unit is one argument, whatever it contains', async () => {
  const entry = `{"__REALTIME_TIMESTAMP":"1790000000000000","MESSAGE":"%s"}`;
  // `$*` joins the arguments with the first character of IFS.
  const printArguments = writeScript('arguments', `IFS='|'; printf '${entry}' "$*"`);
  const logs = new UnitLogs(systemClock, printArguments);
  const unit = 'a; b $(c)';
  const ofSystem = await logs.read({ scope: 'system', unit, lines: 7 });
  assert.match(answerText(ofSystem), /--namespace=\*\|--lines=7\|--unit=a; b \$\(c\)"/);
  const ofUser = await logs.read({ scope: 'user', unit, lines: 7 });
  assert.match(answerText(ofUser), /\|--user-unit=a; b \$\(c\)"/);
});

/** The name and state of each process whose parent is this process. A zombie counts, too. */
function remainingChildProcesses(): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // The file begins with process id, name, state and parent, such as `7 (sleep) Z 3`.
        const [, name = '', state = '', parent] =
          /\((.*)\) (\w) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return Number(parent) === process.pid ? [`${name} ${state}`] : [];
      } catch {
        // The process has just ended.
        return [];
      }
    });
}

test('a reading whose journalctl hangs ends with `timeout`, and another reading may begin when this journalctl has ended', async () => {
  const clock = new ManualClock();
  // Each journalctl adds a line of two bytes to this file when it starts. The flag `a+` creates the file if
  // no journalctl has started yet.
  const marks = join(folder, 'marks');
  const logs = new UnitLogs(clock, writeScript('hangs', `echo x >> ${marks}; exec sleep 1000`));
  const query = { scope: 'user', unit: 'x.service', lines: 1 } as const;
  const waitUntilStarted = (count: number): Promise<unknown> =>
    until(`${count} journalctl have started`, () => readFileSync(marks, { flag: 'a+' }).length === 2 * count);

  const hanging = [1, 2, 3, 4].map(() => logs.read(query));
  await waitUntilStarted(4);
  assert.match(answerText(await logs.read(query)), /^unavailable: 4 logs/);

  clock.advance(READING_MAX_MS - 1);
  assert.equal(clock.timers, 4, 'all readings still have time');
  clock.advance(1);
  for (const answer of await Promise.all(hanging)) assert.match(answerText(answer), /^timeout: /);

  await until('there is room for another journalctl', async () => {
    // A reading for which there is no room ends at once, and starts no journalctl.
    const firstResult = await Promise.race([logs.read(query), waitUntilStarted(5).then(() => 'started')]);
    return firstResult === 'started';
  });

  await logs.stop();
  assert.deepEqual(remainingChildProcesses(), []);
});

test('a run whose journal cannot be read within 9 s does not count as stopped', async () => {
  const clock = new ManualClock();
  const logs = new UnitLogs(clock, writeScript('hangs-for-stop', 'exec sleep 1000'));
  const wasStopped = logs.wasStopped('0123', true);
  await until('journalctl has a deadline', () => clock.timers === 1);
  clock.advance(READING_MAX_MS - 1);
  assert.equal(clock.timers, 1, 'the reading still has time');
  clock.advance(1);
  assert.equal(await wasStopped, false);
  await logs.stop();
});
