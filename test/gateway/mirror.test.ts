// Batches in, stream events and cached responses out.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamEvent } from '../../src/gateway/events/event.js';
import { Mirror } from '../../src/gateway/mirror.js';
import { type CachedResponse, ResponseMaker } from '../../src/gateway/reply.js';
import type { BackendState, ChildName } from '../../src/protocol/actor/backends.js';
import type { Change } from '../../src/protocol/actor/messages.js';
import type { Resource } from '../../src/protocol/actor/resources.js';
import { drop, put } from './scripted-backends.js';

class Scene {
  date = 1000;
  readonly mirror: Mirror;

  constructor(enabled: readonly ChildName[] = ['audio', 'systemd', 'upgrade']) {
    this.mirror = new Mirror(enabled, new ResponseMaker('boot'), () => this.date);
  }

  apply(...changes: Change[]): string[] {
    return this.mirror.apply(changes).map(line);
  }

  health(backend: ChildName, state: BackendState, detail?: string): string[] {
    const health = { state, since: this.date, restarts: 0, ...(detail === undefined ? {} : { detail }) };
    return this.mirror.health(backend, health).map(line);
  }

  text(resource: Resource): string | undefined {
    return this.mirror.read(resource)?.whole.body?.toString();
  }
}

/** One event in one line: of actions and backends the text, of records their keys too. */
function line({ type, removal, records: [first, ...others] }: StreamEvent): string {
  if (first?.slot === undefined || type === 'backend.updated') return `${type} ${first?.json}`;
  const records = [first, ...others].map(
    ({ slot = '', json }) => `${slot.slice(slot.indexOf('/') + 1)}=${json}`,
  );
  return `${type} ${removal ? '-' : '+'} ${records.join(' ')}`;
}

function changedAt(cached: CachedResponse | undefined): string | undefined {
  return cached?.whole.headers.find(([name]) => name === 'X-Cache-Updated-At')?.[1];
}

const client = (key: string, value: unknown): Change => put('audio.clients', key, value);
const output = (key: string, value: unknown): Change => put('audio.outputs', key, value);
const unit = (key: string, value: unknown, rank?: number): Change =>
  put('systemd.services', key, value, rank);

/** Of one batch at a new mirror. */
const BATCHES: readonly (readonly [name: string, changes: readonly Change[], events: readonly string[]])[] = [
  [
    'changes of one collection in one batch are one event',
    [client('1', 'a'), client('2', 'b')],
    ['audio.updated + 1="a" 2="b"'],
  ],
  [
    'the newest text of a record wins within a batch',
    [client('1', 'a'), client('2', 'b'), client('1', 'c')],
    ['audio.updated + 1="c" 2="b"'],
  ],
  [
    'silent collections make no event and do not part a run',
    [client('1', 'a'), put('audio.server', '', 's'), client('2', 'b')],
    ['audio.updated + 1="a" 2="b"'],
  ],
  [
    'a collection of shape each makes one event per record',
    [unit('user/a', 1), unit('user/b', 2)],
    ['service.updated + user/a=1', 'service.updated + user/b=2'],
  ],
  [
    'another collection, a removal and an action end a run, and the order is kept',
    [
      ...[client('1', 'a'), output('1', 'x'), client('2', 'b'), drop('audio.clients', '1')],
      ...[{ kind: 'event', type: 'power.action', json: '{}' } as const, client('1', 'c')],
    ],
    [
      ...['audio.updated + 1="a"', 'audio.output.updated + 1="x"', 'audio.updated + 2="b"'],
      ...['audio.removed - 1="a"', 'power.action {}', 'audio.updated + 1="c"'],
    ],
  ],
];
for (const [name, changes, events] of BATCHES) {
  test(name, () => assert.deepEqual(new Scene(['audio', 'power', 'systemd']).apply(...changes), events));
}

test('an equal text is no change, and keeps the page', () => {
  const scene = new Scene();
  scene.apply(client('1', 'a'));
  scene.health('audio', 'up');
  const page = scene.mirror.read('audio.clients');
  assert.deepEqual(scene.apply(client('1', 'a')), []);
  assert.equal(scene.mirror.read('audio.clients'), page);
});

test('a removal carries the last text; removing what is not there is nothing', () => {
  const scene = new Scene();
  scene.apply(client('1', 'a'), client('2', 'b'));
  assert.deepEqual(scene.apply(drop('audio.clients', '1'), drop('audio.clients', '2')), [
    'audio.removed - 1="a" 2="b"',
  ]);
  assert.deepEqual(scene.apply(drop('audio.clients', '1')), []);
});

test('leaving up tells the state, then removes what has a removal event', () => {
  const scene = new Scene();
  scene.apply(client('1', 'a'), output('3', 'x'), put('audio.server', '', 's'));
  scene.health('audio', 'up');
  assert.deepEqual(scene.health('audio', 'connecting', 'no socket'), [
    'backend.updated {"backend":"audio","state":"connecting","detail":"no socket"}',
    'audio.output.removed - 3="x"',
    'audio.removed - 1="a"',
  ]);
  assert.deepEqual(scene.apply(client('1', 'a')), ['audio.updated + 1="a"']);
});

test('the death of a thread during the first reading removes what was read', () => {
  const scene = new Scene();
  scene.apply(client('1', 'a'));
  assert.deepEqual(scene.health('audio', 'restarting'), [
    'backend.updated {"backend":"audio","state":"restarting"}',
    'audio.removed - 1="a"',
  ]);
});

test('without a removal event only real differences are told after a restart', () => {
  const scene = new Scene();
  scene.apply(unit('user/a', 1), unit('user/b', 1));
  scene.health('systemd', 'up');
  assert.deepEqual(scene.health('systemd', 'restarting'), [
    'backend.updated {"backend":"systemd","state":"restarting"}',
  ]);
  assert.deepEqual(scene.apply(unit('user/a', 1), unit('user/b', 2)), ['service.updated + user/b=2']);
  scene.health('systemd', 'up');
  assert.equal(scene.text('services'), '[1,2]');
});

test('texts from before a loss are forgotten once the backend is up again', () => {
  const scene = new Scene();
  scene.apply(unit('user/a', 1));
  scene.health('systemd', 'up');
  scene.health('systemd', 'connecting');
  scene.health('systemd', 'up');
  assert.equal(scene.text('services'), '[]');
  assert.deepEqual(scene.apply(unit('user/a', 1)), ['service.updated + user/a=1']);
});

test('a state is told when it or its detail changes, and only then', () => {
  const scene = new Scene();
  assert.deepEqual(scene.health('audio', 'connecting'), []);
  assert.equal(scene.health('audio', 'connecting', 'refused').length, 1);
  assert.deepEqual(scene.health('audio', 'connecting', 'refused'), []);
  assert.equal(scene.health('audio', 'up').length, 1);
});

test('a backend that is not enabled has no state', () => {
  const scene = new Scene(['audio']);
  assert.deepEqual(scene.health('power', 'up'), []);
  assert.equal(scene.mirror.healthOf('power'), undefined);
});

test('nothing is read while a backend is not up', () => {
  const scene = new Scene();
  scene.apply(client('1', 'a'));
  assert.equal(scene.mirror.read('audio.clients'), undefined);
  scene.health('audio', 'up');
  assert.equal(scene.text('audio.clients'), '["a"]');
  scene.health('audio', 'failed');
  assert.equal(scene.mirror.read('audio.clients'), undefined);
});

test('/audio joins its parts, and is not told while one is missing', () => {
  const scene = new Scene();
  scene.apply(put('audio.kind', '', 'pipewire'), client('1', 'a'), client('2', 'b'), output('0', 'x'));
  scene.health('audio', 'up');
  assert.equal(scene.mirror.read('audio'), undefined);
  scene.apply(put('audio.server', '', {}));
  assert.equal(scene.text('audio'), '{"kind":"pipewire","server":{},"outputs":["x"],"clients":["a","b"]}');
  assert.equal(scene.text('audio.server'), '{}');
});

test('/upgrade joins its parts', () => {
  const scene = new Scene();
  scene.apply(
    put('upgrade.status', '', { current: '1' }),
    put('upgrade.run', '', { state: 'running' }),
    put('upgrade.step', '', {}),
  );
  scene.health('upgrade', 'up');
  assert.equal(scene.mirror.read('upgrade'), undefined);
  scene.apply(put('upgrade.abilities', '', { can_check: true, can_upgrade: false }));
  assert.equal(
    scene.text('upgrade'),
    '{"current":"1","run":{"state":"running"},"can_check":true,"can_upgrade":false}',
  );
  assert.deepEqual(scene.apply(put('upgrade.step', '', { percent: 5, step: 'a' })), []);
  assert.match(scene.text('upgrade') ?? '', /"run":{"state":"running","percent":5,"step":"a"}/);
});

test('a page is kept until the next change of what it is made of', () => {
  const scene = new Scene();
  scene.apply(client('1', 'a'), output('0', 'x'));
  scene.health('audio', 'up');
  const [clients, outputs] = [scene.mirror.read('audio.clients'), scene.mirror.read('audio.outputs')];
  assert.equal(scene.mirror.read('audio.clients'), clients);
  scene.date = 2000;
  scene.apply(client('1', 'b'));
  assert.equal(scene.mirror.read('audio.outputs'), outputs);
  const changed = scene.mirror.read('audio.clients');
  assert.notEqual(changed?.etag, clients?.etag);
  assert.equal(changedAt(changed), '1970-01-01T00:00:02.000Z');
});

test('what has no records at all has not changed since its backend came up, whenever it is asked for', () => {
  const scene = new Scene();
  scene.date = 2000;
  scene.health('audio', 'up');
  scene.date = 3000;
  assert.equal(changedAt(scene.mirror.read('audio.outputs')), '1970-01-01T00:00:02.000Z');
  scene.health('audio', 'connecting');
  scene.date = 4000;
  scene.health('audio', 'up');
  scene.date = 5000;
  scene.health('audio', 'up', 'and well');
  assert.equal(changedAt(scene.mirror.read('audio.outputs')), '1970-01-01T00:00:04.000Z');
});

test('records keep the order in which they came, also when they change', () => {
  const scene = new Scene();
  scene.apply(unit('system/z', 'z'), unit('user/a', 'a'));
  scene.apply(unit('system/z', 'zz'));
  scene.health('systemd', 'up');
  assert.equal(scene.text('services'), '["zz","a"]');
});

test('records that have ranks are listed by them, whichever came first', () => {
  const scene = new Scene();
  scene.apply(unit('user/a', 'a', 1));
  scene.apply(unit('system/z', 'z', 0));
  scene.health('systemd', 'up');
  assert.equal(scene.text('services'), '["z","a"]');
  scene.apply(drop('systemd.services', 'system/z'));
  assert.equal(scene.text('services'), '["a"]');
  scene.apply(unit('system/z', 'back', 0));
  assert.equal(scene.text('services'), '["back","a"]');
});

test('a snapshot tells each backend, then its records in collection order', () => {
  const scene = new Scene(['audio', 'upgrade']);
  scene.apply(client('1', 'a'), client('2', 'b'), output('0', 'x'), put('audio.server', '', 's'));
  scene.apply(put('upgrade.step', '', {}), put('upgrade.run', '', 'r'), put('upgrade.status', '', 's'));
  scene.health('audio', 'up');
  assert.deepEqual(scene.mirror.snapshot().map(line), [
    'backend.updated {"backend":"audio","state":"up","detail":"snapshot"}',
    'audio.output.updated + 0="x"',
    'audio.updated + 1="a" 2="b"',
    'backend.updated {"backend":"upgrade","state":"connecting","detail":"snapshot"}',
    'upgrade.info + ="s"',
    'upgrade.info + ="r"',
  ]);
});

test('a snapshot taken while a backend is away tells what will come back without a word', () => {
  const scene = new Scene(['systemd']);
  scene.apply(unit('user/a.service', 'as it was'), unit('user/b.service', 'as it was'));
  scene.health('systemd', 'up');
  scene.health('systemd', 'connecting');
  scene.apply(unit('user/b.service', 'changed'));
  assert.deepEqual(scene.mirror.snapshot().map(line), [
    'backend.updated {"backend":"systemd","state":"connecting","detail":"snapshot"}',
    'service.updated + user/a.service="as it was"',
    'service.updated + user/b.service="changed"',
  ]);
  assert.deepEqual(scene.apply(unit('user/a.service', 'as it was')), [], 'nobody is told again');
});

test('a bridge tells its states as a backend does, also when only their words change', () => {
  const scene = new Scene(['discovery']);
  const told = (detail: string): string =>
    `backend.updated {"backend":"discovery","state":"up","detail":"${detail}"}`;
  for (const name of ['node', 'node #2'])
    assert.deepEqual(scene.health('discovery', 'up', name), [told(name)]);
  assert.deepEqual(scene.health('discovery', 'up', 'node #2'), []);
  assert.deepEqual(scene.mirror.snapshot().map(line), [told('snapshot')]);
});

test('a player is new, changes and goes by events of its own, with the time and by its name', () => {
  const scene = new Scene(['players']);
  const player = (volume: number): Change => put('players', 'mpv', { volume });
  assert.deepEqual(scene.apply(player(1)), ['player.added + mpv={"data":{"volume":1},"emitted_at":1000}']);
  scene.health('players', 'up');
  scene.date = 2000;
  assert.deepEqual(scene.apply(player(1)), []);
  assert.deepEqual(scene.apply(player(2)), ['player.updated + mpv={"data":{"volume":2},"emitted_at":2000}']);
  assert.equal(scene.text('players'), '[{"volume":2}]');
  assert.equal(scene.mirror.snapshot().at(-1)?.type, 'player.added');
  const again = [
    'player.removed - mpv={"bus_name":"mpv"}',
    'player.added + mpv={"data":{"volume":2},"emitted_at":2000}',
  ];
  assert.deepEqual(scene.apply(drop('players', 'mpv'), player(2)), again);
  assert.deepEqual(scene.health('players', 'connecting').at(-1), 'player.removed - mpv={"bus_name":"mpv"}');
  assert.match(scene.apply(player(2)).join('\n'), /^player\.added .*$/);
});

test('a position is told each time, and is no state', () => {
  const scene = new Scene(['players']);
  const position = put('players.position', 'mpv', { position: 1 });
  for (const _ of [1, 2]) assert.deepEqual(scene.apply(position), ['player.position + mpv={"position":1}']);
  assert.match(scene.mirror.snapshot().map(line).join('\n'), /^backend\.updated .*$/);
  assert.match(scene.health('players', 'connecting', 'away').join('\n'), /^backend\.updated .*$/);
});
