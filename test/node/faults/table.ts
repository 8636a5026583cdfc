// The table of faults. A row is done to the node under load, and undone; then all must be up within its bound, and everybody must
// know the truth (truth.ts). To add one, add a row.

import assert from 'node:assert/strict';
import type { SeededRandom } from '../../seeded-random.js';
import { until } from '../../until.js';
import { type FaultedNode, LAN_ADDRESS, PLUG_IN, STATE } from './faulted-node.js';
import type { Load } from './load.js';

export type Child = 'audio' | 'systemd' | 'power' | 'upgrade' | 'players' | 'discovery' | 'mqtt';

export interface Scene {
  readonly on: FaultedNode;
  readonly load: Load;
  readonly random: SeededRandom;
}

export interface Fault {
  readonly name: string;
  /** Whose fault it is. `npm test` takes one of each part, chosen by the seed. */
  readonly part: string;
  /** Resolves when it has taken effect, and, where nothing is to be undone, when it is over. */
  readonly do: (scene: Scene) => Promise<unknown>;
  readonly undo?: (scene: Scene) => Promise<unknown>;
  /** Which may go away for it; `all`: the daemon's process itself ends. Nobody else may. */
  readonly mayGo: readonly Child[] | 'all';
  /** Its thread dies, once. */
  readonly thread?: Child;
  /** Until all is up again, after the undoing; default 30 s. */
  readonly upWithinMs?: number;
  /** For this long nobody can answer: requests may be late. */
  readonly silent?: boolean;
  /** Takes more than half a minute: not in `npm test`. */
  readonly slow?: boolean;
}

type Step = (scene: Scene) => Promise<unknown>;
type Scope = 'system' | 'user';

/** Since the fault began, each kind of load has met it. */
async function rounds({ load }: Scene, count = 2): Promise<void> {
  const end = load.rounds + count;
  await until(`${count} rounds of load`, () => load.rounds >= end, 60_000);
}

const killed =
  (scope: Scope, unit: string): Step =>
  async ({ on }) => {
    const pid = await on.signal('KILL', scope, unit);
    await until(`${unit} is another`, async () => (await on.pidOf(scope, unit)) !== pid);
  };

const stopped =
  (scope: Scope, unit: string): Step =>
  async (scene) => {
    await scene.on.signal('STOP', scope, unit);
    await rounds(scene);
  };

const continued =
  (scope: Scope, unit: string): Step =>
  ({ on }) =>
    on.signal('CONT', scope, unit);

const systemctl =
  (scope: Scope, ...args: readonly string[]): Step =>
  ({ on }) =>
    scope === 'user' ? on.systemctl(...args) : on.asRoot(`systemctl ${args.join(' ')}`);

interface ServiceOf {
  readonly part: string;
  readonly scope: Scope;
  readonly unit: string;
  readonly mayGo: readonly Child[];
  /** What brings it back after a kill where nobody else does. */
  readonly start?: Step;
  /** What it has to be followed by, and why: of others' making. */
  readonly mend?: Step;
  readonly upWithinMs?: number;
}

/** A service that is killed, stands still, or is restarted. */
function ofService({ part, scope, unit, mayGo, start, mend, ...rest }: ServiceOf): Fault[] {
  const name = part === unit ? part : `${part} (${unit})`;
  const both: Step = async (scene) => {
    await start?.(scene);
    await mend?.(scene);
  };
  return [
    { name: `${name} is killed`, part, do: killed(scope, unit), undo: both, mayGo, ...rest },
    {
      name: `${name} stands still`,
      part,
      do: stopped(scope, unit),
      undo: continued(scope, unit),
      mayGo,
      ...rest,
    },
    {
      name: `${name} is restarted`,
      part,
      do: systemctl(scope, 'restart', unit),
      ...(mend === undefined ? {} : { undo: mend }),
      mayGo,
      ...rest,
    },
  ];
}

/** A connection that was cut without a word is noticed by what is not acknowledged, 20 s, and tried again backed off. */
const CUT_MS = 60_000;

const SYSTEM_BUS: ServiceOf = {
  part: 'the system bus',
  scope: 'system',
  unit: 'dbus.service',
  mayGo: ['systemd', 'power', 'discovery'],
  start: systemctl('system', 'start', 'dbus.service'),
  // logind of systemd 257 does not find the new bus by itself; and avahi-daemon of Debian ends with its bus, for good.
  mend: systemctl('system', 'restart', 'systemd-logind.service', 'avahi-daemon.service'),
};

const DIED: Readonly<Record<string, string>> = {
  exit: 'exits',
  throw: 'throws',
  memory: 'takes all of its memory',
};

const CHILDREN: readonly [Child, ...Child[]] = [
  'audio',
  'systemd',
  'power',
  'upgrade',
  'players',
  'discovery',
  'mqtt',
];

const restartsOf = async ({ on }: Scene, child: Child): Promise<number> => {
  const health = await on.asRoot('curl --silent --max-time 5 http://127.0.0.1:8018/health');
  return JSON.parse(health).backends[child].restarts;
};

const threadDies =
  (child: Child, how: string, withinMs?: number): Step =>
  async (scene) => {
    const before = await restartsOf(scene, child);
    await scene.on.sabotage(`${how} ${child}`);
    await until(`the thread of ${child}`, async () => (await restartsOf(scene, child)) > before, withinMs);
  };

const ofThread = (child: Child): Fault[] => [
  ...Object.entries(DIED).map(([how, name]) => ({
    name: `the thread of ${child} ${name}`,
    part: 'a thread',
    do: threadDies(child, how),
    mayGo: [child],
    thread: child,
  })),
  {
    name: `the thread of ${child} hangs`,
    part: 'a thread',
    // Looked for each 30 s, and given 10.
    do: threadDies(child, 'hang', 90_000),
    mayGo: [child],
    thread: child,
    slow: true,
  },
];

/** What the rows of a group say themselves. */
type Deed = Pick<Fault, 'name' | 'do' | 'undo'>;

const sh =
  (script: string): Step =>
  ({ on }) =>
    on.asRoot(script);

const NETWORK: readonly Deed[] = [
  {
    name: 'the interface goes down',
    do: async (scene) => {
      await sh('ip link set lan0 down')(scene);
      await rounds(scene);
    },
    undo: sh('ip link set lan0 up'),
  },
  {
    name: 'the interface is another',
    do: async (scene) => {
      await sh('ip link del lan0')(scene);
      await rounds(scene);
    },
    undo: sh(PLUG_IN),
  },
  {
    name: 'the address goes',
    do: async (scene) => {
      await sh(`ip address del ${LAN_ADDRESS}/24 dev lan0`)(scene);
      await rounds(scene);
    },
    undo: sh(`ip address add ${LAN_ADDRESS}/24 dev lan0`),
  },
];

const daemonPid = ({ on }: Scene): Promise<number> => on.pidOf('user', 'tonearm.service');

const SHORTAGES: readonly Fault[] = [
  {
    name: 'the disk is full while an upgrade ends',
    part: 'the disk',
    do: async (scene) => {
      await sh(`! dd if=/dev/zero of=${STATE}/filler bs=1k 2> /dev/null`)(scene);
      await scene.on.asUser('echo 1 > ~/verdict');
      await until(
        'the run has ended',
        async () => (await scene.on.property('tonearm-upgrade.service', 'ActiveState')) !== 'activating',
      );
      await rounds(scene);
    },
    undo: sh(`rm ${STATE}/filler`),
    mayGo: [],
  },
  {
    name: 'no descriptors are left while the sound server and the session bus are restarted',
    part: 'descriptors',
    do: async (scene) => {
      const pid = await daemonPid(scene);
      await sh(`prlimit --pid ${pid} --nofile=$(ls /proc/${pid}/fd | wc -l):`)(scene);
      await scene.on.systemctl('restart', 'dbus.service');
      await scene.on.signal('KILL', 'user', scene.on.soundUnit);
    },
    undo: async (scene) => sh(`prlimit --pid ${await daemonPid(scene)} --nofile=16384:`)(scene),
    mayGo: [...CHILDREN],
    silent: true,
    upWithinMs: CUT_MS,
  },
];

const DAY_MS = 86_400_000;

const CLOCK = [3650, -3650, 1].map(
  (days): Fault => ({
    name: `the clock is ${days} days ahead`,
    part: 'the clock',
    do: async (scene) => {
      await scene.on.sabotage(`clock ${days * DAY_MS}`);
      await rounds(scene);
    },
    undo: ({ on }) => on.sabotage('clock 0'),
    mayGo: [],
  }),
);

/** Whoever has killed all that lingers must let it linger again: nobody else does. */
const lingerAgain: Step = async ({ on }) => {
  await on.asRoot(
    `systemctl reset-failed user@${on.node.uid}.service; systemctl start user@${on.node.uid}.service`,
  );
};

const THE_END: readonly (Deed & Pick<Fault, 'part'>)[] = [
  { name: 'the daemon is killed', part: 'the daemon', do: killed('user', 'tonearm.service') },
  {
    name: 'the daemon stands still',
    part: 'the daemon',
    do: async (scene) => {
      await scene.on.signal('STOP', 'user', 'tonearm.service');
      // The load waits with it.
      await sh('timeout 5 curl --silent http://127.0.0.1:8018/server || true')(scene);
    },
    undo: continued('user', 'tonearm.service'),
  },
  {
    name: 'the daemon is restarted',
    part: 'the daemon',
    do: systemctl('user', 'restart', 'tonearm.service'),
  },
  {
    name: 'the user manager is killed',
    part: 'the user manager',
    do: async ({ on }) => {
      const unit = `user@${on.node.uid}.service`;
      await on.signal('KILL', 'system', unit);
      await until('it has ended', async () => (await on.pidOf('system', unit)) === 0);
    },
    undo: lingerAgain,
  },
  {
    name: 'the user manager is restarted',
    part: 'the user manager',
    do: ({ on }) => on.asRoot(`systemctl restart user@${on.node.uid}.service`),
  },
  {
    name: 'the node is restarted over the API',
    part: 'the node',
    do: async ({ on, load }) => {
      // What enters the node meanwhile would hold it up, and is no part of it.
      await load.end();
      await on.restart();
      load.begin();
    },
  },
];

const stoppedManager: Fault = {
  name: 'the user manager stands still',
  part: 'the user manager',
  do: async (scene) => {
    await scene.on.signal('STOP', 'system', `user@${scene.on.node.uid}.service`);
    await rounds(scene);
  },
  undo: ({ on }) => on.signal('CONT', 'system', `user@${on.node.uid}.service`),
  mayGo: ['systemd', 'upgrade'],
};

/** Those of the sound server depend on which there is. */
export function faultsOf(soundUnits: readonly string[]): readonly Fault[] {
  const sound = soundUnits.flatMap((unit) =>
    ofService({ part: 'the sound server', scope: 'user', unit, mayGo: ['audio'] }),
  );
  const services: readonly ServiceOf[] = [
    {
      part: 'the session bus',
      scope: 'user',
      unit: 'dbus.service',
      mayGo: ['systemd', 'upgrade', 'players'],
      start: systemctl('user', 'start', 'dbus.service'),
    },
    SYSTEM_BUS,
    { part: 'logind', scope: 'system', unit: 'systemd-logind.service', mayGo: ['power'] },
    {
      part: 'polkit',
      scope: 'system',
      unit: 'polkit.service',
      mayGo: ['power'],
      start: systemctl('system', 'start', 'polkit.service'),
    },
    {
      part: 'avahi',
      scope: 'system',
      unit: 'avahi-daemon.service',
      mayGo: ['discovery'],
      start: systemctl('system', 'start', 'avahi-daemon.service'),
    },
    { part: 'the broker', scope: 'system', unit: 'broker.service', mayGo: ['mqtt'], upWithinMs: CUT_MS },
    { part: 'the player', scope: 'user', unit: 'player.service', mayGo: [] },
  ];
  const rows = [...sound, ...services.flatMap(ofService), stoppedManager];
  const network = NETWORK.map(
    (deed): Fault => ({ ...deed, part: 'the network', mayGo: ['mqtt', 'discovery'], upWithinMs: CUT_MS }),
  );
  const ends = THE_END.map((deed): Fault => ({ ...deed, mayGo: 'all', silent: true, upWithinMs: CUT_MS }));
  return [...rows, ...CHILDREN.flatMap(ofThread), ...network, ...SHORTAGES, ...CLOCK, ...ends];
}

/** The rows in the order in which they are done: one of each part, or `all`, or those whose names contain one of `wanted`. */
export function series(random: SeededRandom, faults: readonly Fault[], wanted: string): readonly Fault[] {
  const shuffled = faults
    .map((fault) => ({ fault, at: random.next() }))
    .sort((one, other) => one.at - other.at)
    .map(({ fault }) => fault);
  if (wanted === 'all') return shuffled;
  if (wanted !== '') {
    const rows = wanted
      .split(',')
      .flatMap((name) => faults.filter((fault) => fault.name.includes(name.trim())));
    assert.ok(rows.length > 0, `no fault is called ${wanted}`);
    return rows;
  }
  const quick = shuffled.filter(({ slow }) => slow !== true);
  return [...new Map(quick.map((fault) => [fault.part, fault])).values()];
}
