// The table of faults. Each fault is caused on the node under load, and undone. Then everything must be up
// within the row's bound, and all clients must know the true state (truth.ts). Faults of a service have
// their rows in services.ts.

import assert from 'node:assert/strict';
import { CHILD_NAMES, type ChildName } from '../../../src/protocol/actor/backends.js';
import type { SeededRandom } from '../../seeded-random.js';
import { until } from '../../until.js';
import {
  type Fault,
  healthOf,
  inTurn,
  kill,
  type Step,
  sendSignal,
  sh,
  systemctl,
  together,
  untilNoticed,
  untilTwoRounds,
} from './fault.js';
import { LAN_ADDRESS, PLUG_IN, STATE } from './faulted-node.js';
import { RECONNECTED_WITHIN_MS, serviceFaults } from './services.js';

/**
 * The fields that a row of a group has itself. `inGroup` adds the fields that all rows of the group share.
 */
type GroupedFault = Pick<Fault, 'name' | 'do' | 'undo' | 'isSlow'>;

/** The supervisor pings each thread every 30 s, and waits 10 s for the answer. */
const HUNG_THREAD_REPLACED_WITHIN_MS = 90_000;

const endThread =
  (child: ChildName, order: string): Step =>
  async (context) => {
    const { restarts } = await healthOf(context, child);
    await context.faultedNode.sabotage(`${order} ${child}`);
    const isReplaced = async (): Promise<boolean> => (await healthOf(context, child)).restarts > restarts;
    const deadlineMs = order === 'hang' ? HUNG_THREAD_REPLACED_WITHIN_MS : undefined;
    await until(`the thread of ${child} is replaced`, isReplaced, deadlineMs);
  };

/** Orders for the saboteur, and what the thread does then. */
const DEATHS = { exit: 'exits', throw: 'throws', memory: 'takes all of its memory', hang: 'hangs' };

const threadFaults = (child: ChildName): Fault[] =>
  Object.entries(DEATHS).map(([order, death]) => ({
    name: `the thread of ${child} ${death}`,
    part: 'a thread',
    do: endThread(child, order),
    mayGo: [child],
    threads: [child],
    isSlow: order === 'hang',
  }));

const LINK_DOWN = sh('ip link set lan0 down');
const LINK_UP = sh('ip link set lan0 up');
const changeAddress = (verb: string): Step => sh(`ip address ${verb} ${LAN_ADDRESS}/24 dev lan0`);

const NETWORK: readonly GroupedFault[] = [
  { name: 'the interface goes down', do: inTurn(LINK_DOWN, untilTwoRounds), undo: LINK_UP },
  {
    name: 'the interface goes down for long',
    do: inTurn(LINK_DOWN, untilNoticed('mqtt')),
    undo: LINK_UP,
    isSlow: true,
  },
  {
    name: 'the interface is replaced',
    do: inTurn(sh('ip link del lan0'), untilTwoRounds),
    undo: sh(PLUG_IN),
  },
  { name: 'the address goes', do: inTurn(changeAddress('del'), untilTwoRounds), undo: changeAddress('add') },
];

/**
 * Limits the daemon's descriptors. `limit` is a number, or a text for the shell in which PID stands for the
 * daemon's process id: `$(ls /proc/PID/fd | wc -l)` is the number of its open descriptors. The colon after
 * the number means that only the soft limit is set. The user pi sets the limit, because the daemon is a
 * process of pi. Root would need CAP_SYS_RESOURCE for this, and a node may lack it (launch-script.ts).
 */
const limitDescriptors =
  (limit: string): Step =>
  async ({ faultedNode }) => {
    const pid = await faultedNode.pidOf('user', 'tonearm.service');
    await faultedNode.node.userShell(`prlimit --pid ${pid} --nofile=${limit.replace('PID', String(pid))}:`);
  };

/** dd fails when the disk is full. Only then this step succeeds. */
const FILL_DISK = sh(`! dd if=/dev/zero of=${STATE}/filler bs=1k 2> /dev/null`);

const FAILED_STATUS = '1';

const SHORTAGES: readonly Fault[] = [
  {
    name: 'the disk is full while an upgrade ends',
    part: 'the disk',
    do: inTurn(FILL_DISK, ({ faultedNode }) => faultedNode.endUpgrade(FAILED_STATUS), untilTwoRounds),
    undo: sh(`rm ${STATE}/filler`),
    mayGo: [],
    isAlone: true,
  },
  {
    name: 'no descriptors are left while the sound server and the session bus are restarted',
    part: 'descriptors',
    do: async (context) => {
      await limitDescriptors('$(ls /proc/PID/fd | wc -l)')(context);
      await context.faultedNode.node.systemctl('restart', 'dbus.service');
      await context.faultedNode.signal('KILL', 'user', context.faultedNode.soundUnit);
    },
    // This is the limit in the unit tonearm.service.
    undo: limitDescriptors('16384'),
    mayGo: CHILD_NAMES,
    requestsMayHang: true,
    isAlone: true,
    upWithinMs: RECONNECTED_WITHIN_MS,
  },
];

const CLOCK = [3650, -3650, 1].map(
  (days): Fault => ({
    name: `the clock is ${Math.abs(days)} days ${days > 0 ? 'ahead' : 'behind'}`,
    part: 'the clock',
    mayGo: [],
    do: inTurn(({ faultedNode }) => faultedNode.sabotage(`clock ${days * 86_400_000}`), untilTwoRounds),
    undo: ({ faultedNode }) => faultedNode.sabotage('clock 0'),
  }),
);

/** Makes a step for the unit of pi's manager. The name of this unit has pi's user id. */
const onUserManager =
  (stepFor: (unit: string) => Step): Step =>
  (context) =>
    stepFor(`user@${context.faultedNode.node.uid}.service`)(context);

/** Kills a unit that nobody starts again, such as the manager of a user who lingers. */
const killForGood =
  (unit: string): Step =>
  async ({ faultedNode }) => {
    await faultedNode.signal('KILL', 'system', unit);
    await until(`${unit} has ended`, async () => (await faultedNode.pidOf('system', unit)) === 0);
  };

/** The halted daemon does not answer. The load sends its requests during these 5 s, too. */
const ASK_HALTED_DAEMON = sh('timeout 5 curl --silent http://127.0.0.1:8018/server || true');

const DAEMON: readonly GroupedFault[] = [
  { name: 'the daemon is killed', do: kill('user', 'tonearm.service') },
  { name: 'the daemon is restarted', do: systemctl('user', 'restart', 'tonearm.service') },
  {
    name: 'the daemon stands still',
    do: inTurn(sendSignal('STOP', 'user', 'tonearm.service'), ASK_HALTED_DAEMON),
    undo: sendSignal('CONT', 'user', 'tonearm.service'),
  },
];

const MANAGER: readonly GroupedFault[] = [
  {
    name: 'the user manager is killed',
    do: onUserManager(killForGood),
    undo: onUserManager((unit) => sh(`systemctl reset-failed ${unit}; systemctl start ${unit}`)),
  },
  {
    name: 'the user manager is restarted',
    do: onUserManager((unit) => systemctl('system', 'restart', unit)),
  },
];

const signalUserManager = (signal: string): Step =>
  onUserManager((unit) => sendSignal(signal, 'system', unit));

const MANAGER_STANDS_STILL: Fault = {
  name: 'the user manager stands still',
  part: 'the user manager',
  do: inTurn(signalUserManager('STOP'), untilTwoRounds),
  undo: signalUserManager('CONT'),
  mayGo: ['systemd', 'upgrade'],
  isAlone: true,
};

const NODE: GroupedFault = {
  name: 'the node is restarted over the API',
  do: async ({ faultedNode, load }) => {
    // The load ends first, because its commands in the node would delay the restart.
    await load.end();
    await faultedNode.restart();
    load.begin();
  },
};

const inGroup = (faults: readonly GroupedFault[], group: Omit<Fault, keyof GroupedFault>): Fault[] =>
  faults.map((fault) => ({ ...group, ...fault }));

const WHOLE_PROCESS = {
  mayGo: 'all',
  requestsMayHang: true,
  isAlone: true,
  upWithinMs: RECONNECTED_WITHIN_MS,
} as const;

function allFaults(soundUnits: readonly string[]): readonly Fault[] {
  return [
    ...serviceFaults(soundUnits),
    ...CHILD_NAMES.flatMap(threadFaults),
    ...inGroup(NETWORK, {
      part: 'the network',
      mayGo: ['mqtt', 'discovery'],
      upWithinMs: RECONNECTED_WITHIN_MS,
    }),
    ...SHORTAGES,
    ...CLOCK,
    MANAGER_STANDS_STILL,
    ...inGroup(DAEMON, { part: 'the daemon', ...WHOLE_PROCESS }),
    ...inGroup(MANAGER, { part: 'the user manager', ...WHOLE_PROCESS }),
    ...inGroup([NODE], { part: 'the node', ...WHOLE_PROCESS }),
  ];
}

function shuffled<T>(random: SeededRandom, rows: readonly T[]): T[] {
  const drawn = rows.map((row) => ({ row, place: random.next() }));
  return drawn.sort((one, other) => one.place - other.place).map(({ row }) => row);
}

/** Joins some of the faults into pairs. Both faults of a pair last at the same time. */
function inPairs(random: SeededRandom, rows: readonly Fault[]): Fault[] {
  const remaining = [...rows];
  const series: Fault[] = [];
  for (let fault = remaining.shift(); fault !== undefined; fault = remaining.shift()) {
    const { part, isAlone } = fault;
    // A fault gets a partner in half of the cases: a later fault of another part. Neither may be `isAlone`.
    const index = remaining.findIndex((row) => row.isAlone !== true && row.part !== part);
    const canBePaired = isAlone !== true && index >= 0;
    const isPaired = canBePaired && random.chance(0.5);
    const partner = isPaired ? remaining.splice(index, 1)[0] : undefined;
    series.push(partner === undefined ? fault : together(fault, partner));
  }
  return series;
}

/**
 * Returns the faults in the order in which they are caused. If `selection` is empty, there is one fault of
 * each part, and none that is slow. `all` means every row, some of them in pairs. Any other `selection`
 * lists texts, separated by commas, and selects the faults whose names contain one of them.
 */
export function chooseFaults(
  random: SeededRandom,
  soundUnits: readonly string[],
  selection: string,
): Fault[] {
  const rows = allFaults(soundUnits);
  if (selection === 'all') return inPairs(random, shuffled(random, rows));
  if (selection === '') {
    const quick = shuffled(random, rows).filter(({ isSlow }) => isSlow !== true);
    const faultByPart = new Map(quick.map((fault) => [fault.part, fault]));
    return [...faultByPart.values()];
  }
  const names = selection.split(',').map((name) => name.trim());
  const chosen = names.flatMap((name) => rows.filter((fault) => fault.name.includes(name)));
  assert.ok(chosen.length > 0, `no fault is called ${selection}`);
  return chosen;
}
