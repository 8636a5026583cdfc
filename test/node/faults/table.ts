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
  killed,
  noticed,
  rounds,
  type Step,
  sh,
  signalled,
  systemctl,
  together,
} from './fault.js';
import { LAN_ADDRESS, PLUG_IN, STATE } from './faulted-node.js';
import { CUT_MS, ofServices } from './services.js';

/** The fields that each row of a group has itself. */
type Deed = Pick<Fault, 'name' | 'do' | 'undo' | 'slow'>;

const threadDies =
  (child: ChildName, how: string): Step =>
  async (context) => {
    const { restarts } = await healthOf(context, child);
    await context.on.sabotage(`${how} ${child}`);
    const isAnother = async (): Promise<boolean> => (await healthOf(context, child)).restarts > restarts;
    // The supervisor pings each thread every 30 s, and waits 10 s for the answer.
    await until(`the thread of ${child} is another`, isAnother, how === 'hang' ? 90_000 : undefined);
  };

const DEATHS = { exit: 'exits', throw: 'throws', memory: 'takes all of its memory', hang: 'hangs' };

const ofThread = (child: ChildName): Fault[] =>
  Object.entries(DEATHS).map(([how, dies]) => ({
    name: `the thread of ${child} ${dies}`,
    part: 'a thread',
    do: threadDies(child, how),
    mayGo: [child],
    threads: [child],
    slow: how === 'hang',
  }));

const DOWN = sh('ip link set lan0 down');
const UP = sh('ip link set lan0 up');
const address = (act: string): Step => sh(`ip address ${act} ${LAN_ADDRESS}/24 dev lan0`);

const NETWORK: readonly Deed[] = [
  { name: 'the interface goes down', do: inTurn(DOWN, rounds), undo: UP },
  { name: 'the interface goes down for long', do: inTurn(DOWN, noticed('mqtt')), undo: UP, slow: true },
  { name: 'the interface is another', do: inTurn(sh('ip link del lan0'), rounds), undo: sh(PLUG_IN) },
  { name: 'the address goes', do: inTurn(address('del'), rounds), undo: address('add') },
];

/** pi changes the limit of pi's own process, because root may do so only where it is root of the machine. */
const descriptors =
  (limit: string): Step =>
  async ({ on }) => {
    const pid = await on.pidOf('user', 'tonearm.service');
    await on.node.userShell(`prlimit --pid ${pid} --nofile=${limit.replace('PID', String(pid))}:`);
  };

const FILLED = sh(`! dd if=/dev/zero of=${STATE}/filler bs=1k 2> /dev/null`);

const SHORTAGES: readonly Fault[] = [
  {
    name: 'the disk is full while an upgrade ends',
    part: 'the disk',
    do: inTurn(FILLED, ({ on }) => on.upgradeEnds('1'), rounds),
    undo: sh(`rm ${STATE}/filler`),
    mayGo: [],
    alone: true,
  },
  {
    name: 'no descriptors are left while the sound server and the session bus are restarted',
    part: 'descriptors',
    do: async (context) => {
      await descriptors('$(ls /proc/PID/fd | wc -l)')(context);
      await context.on.node.systemctl('restart', 'dbus.service');
      await context.on.signal('KILL', 'user', context.on.soundUnit);
    },
    undo: descriptors('16384'),
    mayGo: CHILD_NAMES,
    silent: true,
    alone: true,
    upWithinMs: CUT_MS,
  },
];

const CLOCK = [3650, -3650, 1].map(
  (days): Fault => ({
    name: `the clock is ${days} days ahead`,
    part: 'the clock',
    mayGo: [],
    do: inTurn(({ on }) => on.sabotage(`clock ${days * 86_400_000}`), rounds),
    undo: ({ on }) => on.sabotage('clock 0'),
  }),
);

/** Does `deed` to the unit of the user's manager. */
const toManager =
  (deed: (unit: string) => Step): Step =>
  (context) =>
    deed(`user@${context.on.node.uid}.service`)(context);

/** Kills a unit that nobody starts again, such as the manager of a user who lingers. */
const killedForGood =
  (unit: string): Step =>
  async ({ on }) => {
    await on.signal('KILL', 'system', unit);
    await until('it has ended', async () => (await on.pidOf('system', unit)) === 0);
  };

/** This request waits 5 s for a daemon that stands still, and so do the requests of the load. */
const STOOD_STILL = sh('timeout 5 curl --silent http://127.0.0.1:8018/server || true');

const DAEMON: readonly Deed[] = [
  { name: 'the daemon is killed', do: killed('user', 'tonearm.service') },
  { name: 'the daemon is restarted', do: systemctl('user', 'restart', 'tonearm.service') },
  {
    name: 'the daemon stands still',
    do: inTurn(signalled('STOP', 'user', 'tonearm.service'), STOOD_STILL),
    undo: signalled('CONT', 'user', 'tonearm.service'),
  },
];

const MANAGER: readonly Deed[] = [
  {
    name: 'the user manager is killed',
    do: toManager(killedForGood),
    undo: toManager((unit) => sh(`systemctl reset-failed ${unit}; systemctl start ${unit}`)),
  },
  { name: 'the user manager is restarted', do: toManager((unit) => systemctl('system', 'restart', unit)) },
];

const managerGets = (signal: string): Step => toManager((unit) => signalled(signal, 'system', unit));

const MANAGER_STANDS_STILL: Fault = {
  name: 'the user manager stands still',
  part: 'the user manager',
  do: inTurn(managerGets('STOP'), rounds),
  undo: managerGets('CONT'),
  mayGo: ['systemd', 'upgrade'],
  alone: true,
};

const NODE: Deed = {
  name: 'the node is restarted over the API',
  do: async ({ on, load }) => {
    // The load ends first, because its commands in the node would delay the restart.
    await load.end();
    await on.restart();
    load.begin();
  },
};

const inGroup = (deeds: readonly Deed[], group: Omit<Fault, keyof Deed>): Fault[] =>
  deeds.map((deed) => ({ ...group, ...deed }));

const PROCESS = { mayGo: 'all', silent: true, alone: true, upWithinMs: CUT_MS } as const;

function faults(soundUnits: readonly string[]): readonly Fault[] {
  return [
    ...ofServices(soundUnits),
    ...CHILD_NAMES.flatMap(ofThread),
    ...inGroup(NETWORK, { part: 'the network', mayGo: ['mqtt', 'discovery'], upWithinMs: CUT_MS }),
    ...SHORTAGES,
    ...CLOCK,
    MANAGER_STANDS_STILL,
    ...inGroup(DAEMON, { part: 'the daemon', ...PROCESS }),
    ...inGroup(MANAGER, { part: 'the user manager', ...PROCESS }),
    ...inGroup([NODE], { part: 'the node', ...PROCESS }),
  ];
}

function shuffled<T>(random: SeededRandom, rows: readonly T[]): T[] {
  const drawn = rows.map((row) => ({ row, at: random.next() }));
  return drawn.sort((one, other) => one.at - other.at).map(({ row }) => row);
}

/** Joins some of the faults into pairs. Both faults of a pair last at the same time. */
function inPairs(random: SeededRandom, rows: readonly Fault[]): Fault[] {
  const left = [...rows];
  const series: Fault[] = [];
  for (let fault = left.shift(); fault !== undefined; fault = left.shift()) {
    const part = fault.part;
    const at = left.findIndex((other) => other.alone !== true && other.part !== part);
    const [other] = fault.alone !== true && at >= 0 && random.chance(0.5) ? left.splice(at, 1) : [];
    series.push(other === undefined ? fault : together(fault, other));
  }
  return series;
}

/**
 * Returns the faults in the order in which they are caused. If `selection` is empty, there is one fault of
 * each part. `all` means every row, some of them in pairs. Any other `selection` lists parts of names,
 * separated by commas.
 */
export function series(random: SeededRandom, soundUnits: readonly string[], selection: string): Fault[] {
  const rows = faults(soundUnits);
  if (selection === 'all') return inPairs(random, shuffled(random, rows));
  if (selection === '') {
    const quick = shuffled(random, rows).filter(({ slow }) => slow !== true);
    return [...new Map(quick.map((fault) => [fault.part, fault])).values()];
  }
  const names = selection.split(',').map((name) => name.trim());
  const chosen = names.flatMap((name) => rows.filter((fault) => fault.name.includes(name)));
  assert.ok(chosen.length > 0, `no fault is called ${selection}`);
  return chosen;
}
