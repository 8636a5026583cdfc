// Tests which of several tabs holds the event stream. The channel is scripted, and the test moves the clock.
// test/browser/page-tabs.test.ts tests tabs of a real browser.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { Tabs } from '../../src/page/tabs.js';

const SILENCE_MS = 20_000;
/** tabs.ts has the same constant. */
const OBJECTION_MS = 100;

/** Delivers at once to every other channel that is open. */
class ScriptedChannel extends EventTarget {
  static readonly all = new Set<ScriptedChannel>();

  constructor() {
    super();
    ScriptedChannel.all.add(this);
  }

  postMessage(data: unknown): void {
    if (!ScriptedChannel.all.has(this)) return;
    for (const other of [...ScriptedChannel.all])
      if (other !== this) other.dispatchEvent(new MessageEvent('message', { data }));
  }

  close(): void {
    ScriptedChannel.all.delete(this);
  }
}

/** A tab, visible at first. The holder publishes `all` when another tab joins, and `done` on a request. */
class Tab {
  readonly tabs: Tabs<string>;
  readonly updates: string[] = [];
  #isHolder = false;
  #joined = 0;
  #isHidden = false;
  #channel: ScriptedChannel | undefined;

  constructor(openChannel: () => ScriptedChannel | undefined) {
    this.tabs = new Tabs<string>({
      openChannel: () => {
        this.#channel = openChannel();
        return this.#channel;
      },
      isHidden: () => this.#isHidden,
      onHold: () => {
        this.#isHolder = true;
      },
      onYield: () => {
        this.#isHolder = false;
      },
      onJoin: () => {
        this.#joined += 1;
        this.tabs.publish('all');
      },
      onRequest: () => this.tabs.publish('done'),
      onUpdate: (update) => this.updates.push(update),
      silenceMs: () => SILENCE_MS,
    });
    this.tabs.enter();
  }

  get isHolder(): boolean {
    return this.#isHolder;
  }

  /** The number of tabs that have joined this one. */
  get joined(): number {
    return this.#joined;
  }

  setHidden(isHidden: boolean): void {
    this.#isHidden = isHidden;
    this.tabs.noteVisibility();
  }

  crash(): void {
    this.#channel?.close();
  }
}

beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 }));
afterEach(() => {
  mock.timers.reset();
  ScriptedChannel.all.clear();
});

/** Opens a visible tab, a second after the previous tab. */
function openTab(openChannel: () => ScriptedChannel | undefined = () => new ScriptedChannel()): Tab {
  mock.timers.tick(1000);
  return new Tab(openChannel);
}

/** Each element is true if its tab holds the stream. */
const areHolders = (...tabs: readonly Tab[]): boolean[] => tabs.map((tab) => tab.isHolder);

test('the oldest tab keeps the stream, and sends each new tab the whole state', () => {
  const one = openTab();
  const two = openTab();
  const three = openTab();
  assert.deepEqual(areHolders(one, two, three), [true, false, false]);
  assert.equal(one.joined, 2);
  assert.deepEqual(three.updates, ['all']);
  two.tabs.request();
  assert.deepEqual(two.updates.at(-1), 'done');
});

test('exactly one of the other tabs takes over when the holder leaves', () => {
  const one = openTab();
  const two = openTab();
  const three = openTab();
  one.tabs.leave();
  mock.timers.tick(OBJECTION_MS);
  assert.deepEqual(areHolders(one, two, three), [false, true, false]);
  // The first tab is still the oldest, so no tab objects when it holds the stream at once.
  one.tabs.enter();
  assert.deepEqual(areHolders(one, two, three), [true, false, false], 'the first tab has come back');
});

test('one of the other tabs takes over when the holder has crashed, but not while the holder still publishes', () => {
  const one = openTab();
  const two = openTab();
  const three = openTab();
  for (let times = 0; times < 5; times += 1) {
    mock.timers.tick(SILENCE_MS - 1);
    // Any update is a sign of life, whatever it contains.
    one.tabs.publish('love');
  }
  assert.deepEqual(areHolders(one, two, three), [true, false, false]);
  one.crash();
  // A follower claims the stream after the silence, and holds it if no tab objects in time.
  mock.timers.tick(SILENCE_MS);
  mock.timers.tick(OBJECTION_MS);
  assert.deepEqual(areHolders(two, three), [true, false]);
});

test('a visible tab takes the stream from a hidden tab, and one of several hidden tabs keeps it', () => {
  const one = openTab();
  const two = openTab();
  const three = openTab();
  one.setHidden(true);
  mock.timers.tick(OBJECTION_MS);
  assert.deepEqual(areHolders(one, two, three), [false, true, false]);
  // All three tabs are hidden now. Their titles still name the track, so one tab must keep the stream.
  for (const tab of [three, two]) tab.setHidden(true);
  mock.timers.tick(OBJECTION_MS);
  assert.deepEqual(areHolders(one, two, three).filter(Boolean).length, 1, 'one hidden tab keeps the stream');
  three.setHidden(false);
  mock.timers.tick(OBJECTION_MS);
  assert.deepEqual(areHolders(one, two, three), [false, false, true]);
  one.setHidden(false);
  mock.timers.tick(OBJECTION_MS);
  assert.deepEqual(
    areHolders(one, two, three),
    [true, false, false],
    'the older visible tab takes the stream',
  );
});

test('a tab that cannot open a channel has a stream of its own', () => {
  assert.deepEqual(
    areHolders(
      openTab(() => undefined),
      openTab(() => undefined),
    ),
    [true, true],
  );
});
