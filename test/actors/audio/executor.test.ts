// One command after another, each within its time, and what is said when one fails.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { SoundCommand } from '../../../src/actors/audio/commands.js';
import { type CommandTiming, Executor, type Performer } from '../../../src/actors/audio/executor.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { FaultCode } from '../../../src/protocol/actor/faults.js';
import type { RequestError } from '../../../src/protocol/pulse/outcome.js';
import { inputInfo, serverInfo, sinkInfo } from './sound-records.js';

/** What does not end fails its test. */
const DEADLINE = { timeout: 10_000 };
const TIMING: CommandTiming = { commandMs: 9_000, commandLeastMs: 1_000, wakeMs: 3_000 };
const MUTE: SoundCommand = { do: 'mute', target: { kind: 'client', ref: '5' } };
const OK = { ok: true } as const;

function filled(): SoundState {
  const state = new SoundState();
  state.putServer(serverInfo());
  state.putSink(sinkInfo(0, 'living'));
  state.putInput(inputInfo(5, 'News'));
  state.putInput(inputInfo(6, 'Pass', { hasVolume: false }));
  return state;
}

/** A performer that accepts everything at once, but for what a test says otherwise. */
function performing(parts: Partial<Performer> = {}): Performer {
  return {
    state: filled(),
    send: async () => ({ ok: true, value: undefined }),
    readAgain: async () => undefined,
    wake: () => assert.fail('nobody sleeps'),
    giveUp: () => undefined,
    ...parts,
  };
}

describe('a command has one time from its arrival', DEADLINE, () => {
  test('and is sent with what the commands before it have left of it', async () => {
    let now = 100;
    const given: number[] = [];
    const send: Performer['send'] = async (_, deadlineMs) => {
      given.push(deadlineMs);
      now += 3_000;
      return { ok: true, value: undefined };
    };
    const executor = new Executor(performing({ send }), TIMING, () => now);
    const answers = await Promise.all([MUTE, MUTE, MUTE, MUTE].map((command) => executor.run(command)));
    assert.deepEqual(given, [9_000, 6_000, 3_000]);
    assert.deepEqual(answers.slice(0, 3), [OK, OK, OK]);
    assert.deepEqual(answers[3], {
      ok: false,
      fault: 'timeout',
      detail: 'The commands before this one took too long',
    });
    assert.deepEqual(await executor.run(MUTE), OK);
    assert.equal(given[3], 9_000);
  });

  for (const [leftMs, sent] of [
    [1_000, true],
    [999, false],
  ] as const) {
    test(`and with ${leftMs} ms left it is ${sent ? 'sent' : 'not sent any more'}`, async () => {
      let now = 0;
      let sendings = 0;
      const send: Performer['send'] = async () => {
        sendings += 1;
        now = TIMING.commandMs - leftMs;
        return { ok: true, value: undefined };
      };
      const executor = new Executor(performing({ send }), TIMING, () => now);
      const [, second] = await Promise.all([executor.run(MUTE), executor.run(MUTE)]);
      assert.equal(second?.ok, sent);
      assert.equal(sendings, sent ? 2 : 1);
    });
  }

  test('and is answered within it when the reading after it hangs', async () => {
    const readAgain = () => new Promise<never>(() => undefined);
    const timing = { commandMs: 20, commandLeastMs: 0, wakeMs: 10 };
    const executor = new Executor(performing({ readAgain }), timing, () => 0);
    assert.deepEqual(await executor.run(MUTE), OK);
  });
});

test('a command goes on behind one that failed unexpectedly', async () => {
  let sendings = 0;
  const send: Performer['send'] = async () => {
    sendings += 1;
    if (sendings === 1) throw new Error('unexpected');
    return { ok: true, value: undefined };
  };
  const executor = new Executor(performing({ send }), TIMING);
  const [first, second] = await Promise.allSettled([executor.run(MUTE), executor.run(MUTE)]);
  assert.deepEqual([first?.status, second?.status], ['rejected', 'fulfilled']);
});

describe('what fails is told in a sentence', () => {
  const send =
    (error: RequestError): Performer['send'] =>
    async () => ({ ok: false, error });
  const client = { kind: 'client', ref: 'Nobody' } as const;
  const output = { kind: 'output', ref: 'garden' } as const;
  const rows: readonly (readonly [string, SoundCommand, RequestError | undefined, FaultCode, string])[] = [
    [
      'no such client',
      { do: 'mute', target: client },
      undefined,
      'no-such-client',
      'There is no client "Nobody"',
    ],
    [
      'no such output',
      { do: 'mute', target: output },
      undefined,
      'no-such-output',
      'There is no output "garden"',
    ],
    [
      'no volume',
      { do: 'volume', target: { kind: 'client', ref: '6' }, volume: 1 },
      undefined,
      'no-volume',
      'The stream has no volume of its own',
    ],
    [
      'a refusal',
      MUTE,
      { kind: 'server', code: 1, name: 'ACCESS', meaning: 'access denied' },
      'refused',
      'The sound server says: access denied (ACCESS)',
    ],
    [
      'a client that has just ended',
      MUTE,
      { kind: 'server', code: 5, name: 'NOENTITY', meaning: 'no such entity' },
      'no-such-client',
      'The client has just ended',
    ],
    [
      'an output that has just gone',
      { do: 'default', output: 'living' },
      { kind: 'server', code: 5, name: 'NOENTITY', meaning: 'no such entity' },
      'no-such-output',
      'The output has just gone',
    ],
    ['no answer', MUTE, { kind: 'timeout' }, 'timeout', 'The sound server did not answer'],
    [
      'what does not fit the wire',
      MUTE,
      { kind: 'bad-argument', detail: 'a zero byte' },
      'bad-value',
      'The value cannot be sent: a zero byte',
    ],
    [
      'the end of the connection',
      MUTE,
      { kind: 'closed', reason: { kind: 'peer-closed' } },
      'unavailable',
      'The connection to the sound server has ended',
    ],
    [
      'a connection that ended because others had no answer',
      MUTE,
      { kind: 'closed', reason: { kind: 'timeout', command: 'GET_SINK_INFO' } },
      'timeout',
      'The sound server did not answer',
    ],
    [
      'a reply that cannot be read',
      MUTE,
      { kind: 'violation', detail: 'rubbish' },
      'unavailable',
      'The connection to the sound server has ended',
    ],
  ];
  for (const [what, command, error, fault, detail] of rows) {
    test(what, async () => {
      const performer = performing(error === undefined ? {} : { send: send(error) });
      const answer = await new Executor(performer, TIMING).run(command);
      assert.deepEqual(answer, { ok: false, fault, detail });
    });
  }

  test('no default output', async () => {
    const performer = performing({ state: new SoundState() });
    const answer = await new Executor(performer, TIMING).run({ do: 'mute', target: { kind: 'server' } });
    assert.deepEqual(answer, { ok: false, fault: 'no-such-output', detail: 'There is no default output' });
  });

  test('no answer: and the connection is given up', async () => {
    const givenUp: string[] = [];
    const giveUp: Performer['giveUp'] = (command, error) => givenUp.push(`${command} ${error.kind}`);
    await new Executor(performing({ send: send({ kind: 'timeout' }), giveUp }), TIMING).run(MUTE);
    assert.deepEqual(givenUp, ['SET_SINK_INPUT_MUTE timeout']);
  });
});
