// A node that is renamed while the gateway runs: what it answers to over HTTP, what it says of itself, and how often it looks.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OwnName } from '../../src/gateway/own-name.js';
import { PageMaker } from '../../src/gateway/page.js';
import { trustRules } from '../../src/gateway/trust.js';
import { ManualClock } from '../manual-clock.js';
import { until } from '../until.js';
import { GatewayUnderTest } from './gateway-under-test.js';

const ADDRESS = '127.0.0.1';

test('the hostname is looked at once a second, however often the page is asked for, and finds the same page', () => {
  let looks = 0;
  const clock = new ManualClock();
  const read = (): string => {
    looks += 1;
    return 'kitchen';
  };
  const rules = trustRules({ hostname: 'kitchen', hosts: [], origins: [] });
  const pages = new PageMaker('boot');
  const derive = () => ({ rules: { ...rules }, serverPage: pages.make('{}', 0) });
  const name = new OwnName(read, derive, clock.monotonic);
  const first = { rules: name.rules, page: name.serverPage() };
  for (let asked = 0; asked < 100; asked += 1) {
    clock.advance(100);
    assert.equal(name.serverPage(), first.page);
  }
  assert.equal(looks, 1 + 10);
  name.look();
  assert.equal(looks, 1 + 11);
  assert.equal(name.serverPage(), first.page);
  assert.equal(name.rules, first.rules);
});

class RenamedGateway {
  readonly under = GatewayUnderTest.up();

  async status(host: string, path = '/audio'): Promise<number> {
    return (await this.under.fetch({ path, headers: { Host: host } })).status;
  }

  async saysOfItself(): Promise<unknown> {
    return ((await this.under.json('/server')) as { readonly hostname: string }).hostname;
  }

  async pageTag(): Promise<string | undefined> {
    return (await this.under.fetch({ path: '/server' })).headers.etag;
  }
}

test('it answers to its new name, and to the old one no more', async (context) => {
  const renamed = new RenamedGateway();
  context.after(() => renamed.under.close());
  assert.equal(await renamed.status('kitchen'), 200);
  assert.equal(await renamed.status('attic'), 403);
  renamed.under.hostname = 'attic';
  assert.equal(await renamed.status('attic'), 200);
  assert.equal(await renamed.status('attic.local:8018'), 200);
  assert.equal(await renamed.status('kitchen'), 403);
  assert.equal(await renamed.status(ADDRESS), 200);
  assert.equal(await renamed.saysOfItself(), 'attic');
});

test('/server tells the new name to whoever asks, under another tag, and is the same page until then', async (context) => {
  const renamed = new RenamedGateway();
  context.after(() => renamed.under.close());
  assert.equal(await renamed.saysOfItself(), 'Kitchen');
  const tag = await renamed.pageTag();
  assert.equal(await renamed.pageTag(), tag);
  // Before a stranger is refused, the hostname is looked at.
  assert.equal(await renamed.status('attic'), 403);
  assert.equal(await renamed.pageTag(), tag);
  renamed.under.hostname = 'attic';
  await until('it tells the new name', async () => (await renamed.saysOfItself()) === 'attic');
  assert.notEqual(await renamed.pageTag(), tag);
  assert.equal(await renamed.status('kitchen'), 403);
});
