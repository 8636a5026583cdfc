// A node that is renamed while the gateway runs: what it answers to over HTTP, and what it says of itself.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayUnderTest } from './gateway-under-test.js';

const ADDRESS = '127.0.0.1';

class RenamedGateway {
  readonly under = GatewayUnderTest.up();

  async status(host: string, path = '/audio'): Promise<number> {
    return (await this.under.fetch({ path, headers: { Host: host } })).status;
  }

  async hostname(): Promise<unknown> {
    return ((await this.under.json('/server')) as { readonly hostname: string }).hostname;
  }

  async tag(): Promise<string | undefined> {
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
  assert.equal(await renamed.hostname(), 'attic');
});

test('/server tells the new name to whoever asks, under another tag, and the same one until then', async (context) => {
  const renamed = new RenamedGateway();
  context.after(() => renamed.under.close());
  assert.equal(await renamed.hostname(), 'Kitchen');
  const tag = await renamed.tag();
  assert.equal(await renamed.tag(), tag);
  assert.equal(await renamed.tag(), tag);
  renamed.under.hostname = 'attic';
  assert.equal(await renamed.hostname(), 'attic');
  assert.notEqual(await renamed.tag(), tag);
  assert.equal(await renamed.status('kitchen'), 403);
});
