// A real Chromium for tests, with its own profile, that makes no network requests by itself.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContextOptions, chromium } from 'playwright-core';

/** Root needs --no-sandbox; the other arguments keep the browser from making requests of its own. */
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-sync',
  '--disable-background-networking',
  '--disable-component-update',
];

export type OpenBrowser = Awaited<ReturnType<typeof openChromium>>;

export async function openChromium(options: BrowserContextOptions = {}) {
  const profile = mkdtempSync(join(tmpdir(), 'tonearm-chromium-'));
  const program = { executablePath: '/usr/bin/chromium', args: ARGUMENTS };
  const context = await chromium.launchPersistentContext(profile, { ...options, ...program });
  /** Ends the browser and removes its profile. */
  const close = async (): Promise<void> => {
    await context.close();
    // Chromium's helper processes end later, and may write to the profile until then.
    rmSync(profile, { recursive: true, force: true, maxRetries: 10 });
  };
  return { context, close };
}
