// A real Chromium for tests, with a profile of its own, that asks the network for nothing by itself.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
/** Root needs --no-sandbox; the rest keeps the browser from asking the network for anything. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface OpenBrowser {
  readonly context: BrowserContext;
  /** Ends it and removes its profile. */
  close(): Promise<void>;
}

export async function openChromium(options: BrowserContextOptions = {}): Promise<OpenBrowser> {
  const profile = mkdtempSync(join(tmpdir(), 'tonearm-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    ...options,
    executablePath: CHROMIUM,
    args: ARGUMENTS,
  });
  const close = async (): Promise<void> => {
    await context.close();
    // Its helpers end behind it, and may write there until then.
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  };
  return { context, close };
}
