// Runs the calling measurement again in a network of its own, where addresses and the kernel's limits can be
// set. Needs root, unshare, ip.

import { execFileSync, spawnSync } from 'node:child_process';

/** Returns only in the process inside the new network. The outer process ends with that one's status. */
export function inOwnNetwork(): void {
  if (process.env['TONEARM_BENCH_NETWORK'] === '1') {
    execFileSync('ip', ['link', 'set', 'lo', 'up']);
    return;
  }
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  const env = { ...process.env, TONEARM_BENCH_NETWORK: '1' };
  process.exit(spawnSync('unshare', ['--net', ...again], { stdio: 'inherit', env }).status ?? 1);
}
