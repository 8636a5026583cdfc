// Tests what comes of a journalctl that fails, hangs, writes without end, or is missing. The real one is in
// test/node/scenarios/systemd-logs.ts.

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

/** A program in the place of journalctl. */
function script(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o700 });
  return path;
}

const ENTRY = `{"__REALTIME_TIMESTAMP":"1790000000000000","PRIORITY":"4","MESSAGE":"hello"}`;
const NO_FILES = 'No journal files were opened due to insufficient permissions.';

const textOf = (answer: Answer): string =>
  answer.ok ? (answer.value.text ?? '') : `${answer.error.fault}: ${answer.error.detail}`;
const read = async (program: string, scope: UnitScope = 'user'): Promise<string> =>
  textOf(await new UnitLogs(systemClock, program).read({ scope, unit: 'x.service', lines: 20 }));

const ROWS: readonly (readonly [what: string, text: string, user: RegExp, system: RegExp])[] = [
  ['writes entries', `echo '${ENTRY}'`, /^\[\{.*hello"\}\]$/, /hello/],
  ['finds nothing', 'true', /^\[\]$/, /^\[\]$/],
  ['may open no file', `echo '${NO_FILES}' >&2; exit 1`, /^not-granted: .*systemd-journal/, /^not-granted/],
  ['fails', 'echo Bad >&2; echo message >&2; exit 3', /^refused: .*status 3: Bad; message$/, /refused/],
  ['is killed', 'kill -KILL $$', /^refused: .*by SIGKILL$/, /refused/],
  ['is killed behind an entry', `echo '${ENTRY}'; kill -KILL $$`, /^refused/, /^refused/],
  ['writes without end', `echo '${ENTRY}'; exec yes`, /^\[\{.*hello"\}\]$/, /hello/],
  ['writes one message without end', 'exec tr "\\0" x < /dev/zero', /^refused: .*1048576 bytes/, /refused/],
];
for (const [index, [what, text, user, system]] of ROWS.entries()) {
  test(`the answer is right for a journalctl that ${what}`, async () => {
    const program = script(`row-${index}`, text);
    assert.match(await read(program, 'user'), user);
    assert.match(await read(program, 'system'), system);
  });
}

test('a journalctl that is missing, or must not be started, is named in the answer', async () => {
  assert.match(await read(join(folder, 'none')), /^refused: journalctl cannot be started: .*ENOENT/);
  assert.match(await read(folder), /^refused: journalctl cannot be started: .*EACCES/);
});

test('a run counts as stopped only where systemd has logged that', async () => {
  const start = `echo '{"JOB_TYPE":"start"}'`;
  const stop = `echo '{"JOB_TYPE":"stop"}'`;
  const rows = Object.entries({ [stop]: true, [`${start}; ${stop}`]: false, true: false, 'exit 1': false });
  for (const [index, [text, expected]] of rows.entries()) {
    const logs = new UnitLogs(systemClock, script(`stopped-${index}`, text));
    assert.equal(await logs.wasStopped('0123'), expected, text);
  }
});

test('journalctl is started without a shell: a name is one argument, whatever it contains', async () => {
  const entry = `{"__REALTIME_TIMESTAMP":"1790000000000000","MESSAGE":"%s"}`;
  const logs = new UnitLogs(systemClock, script('arguments', `printf '${entry}' "$*"`));
  const unit = 'a; b $(c)';
  const answer = await logs.read({ scope: 'system', unit, lines: 7 });
  assert.match(textOf(answer), /--namespace=\* --lines=7 --unit=a; b \$\(c\)"/);
  assert.match(textOf(await logs.read({ scope: 'user', unit, lines: 7 })), /--user-unit=a; b/);
});

/** The states of this process's children that run `program`; a zombie has no program any more. */
function childrenLeft(): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, name = '', state = '', parent] =
          /\((.*)\) (\w) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return Number(parent) === process.pid ? [`${name} ${state}`] : [];
      } catch {
        // It has just ended.
        return [];
      }
    });
}

test('a journalctl that hangs is 504 and killed; it counts until it has ended, and none is left at the end', async () => {
  const clock = new ManualClock();
  const marks = join(folder, 'marks');
  const logs = new UnitLogs(clock, script('hangs', `echo x >> ${marks}; exec sleep 1000`));
  const query = { scope: 'user', unit: 'x.service', lines: 1 } as const;
  const started = (count: number): Promise<unknown> =>
    until(`${count} journalctl have started`, () => readFileSync(marks, { flag: 'a+' }).length === 2 * count);
  const four = [1, 2, 3, 4].map(() => logs.read(query));
  await started(4);
  assert.match(textOf(await logs.read(query)), /^unavailable: 4 logs/);
  clock.advance(5_000);
  for (const answer of await Promise.all(four)) assert.match(textOf(answer), /^timeout: /);
  await until('there is room for another journalctl', async () => {
    const answer = Promise.race([logs.read(query), started(5).then(() => 'room')]);
    return (await answer) === 'room';
  });
  await logs.stop();
  assert.deepEqual(childrenLeft(), []);
});
