// The daemon on the node with lists of units: started outside the user's manager, so that it outlives it; asked, listened to,
// ended. For the scenarios of service units.

import assert from 'node:assert/strict';
import type { ServiceRecord } from '../../../src/protocol/actor/schemas.js';
import { until } from '../../until.js';
import { NODE_PROGRAM, NODE_USER } from '../node.js';
import { DIST, type Heard, HeldDaemon, SEEN_WITHIN_MS } from './held-daemon.js';

const PROGRAM = '/opt/tonearm';
const CONFIG = '/opt/tonearm-systemd/config.yaml';
const PID = '/tmp/tonearm-systemd.pid';

export interface Health {
  readonly status: string;
  readonly backends: Readonly<
    Record<string, { readonly state: string; readonly detail?: string } | undefined>
  >;
}

export class SystemdDaemon extends HeldDaemon {
  install(): Promise<void> {
    return this.node.install(DIST, PROGRAM);
  }

  /** Starts the daemon anew and waits for `state` of its systemd backend. `lists` is the section's YAML in flow style. */
  async begin(lists: string, state = 'up', environment: readonly string[] = []): Promise<void> {
    await this.end();
    await this.node.writeFile(CONFIG, `systemd: ${lists}\n`);
    const script = `echo $$ > ${PID}; exec env ${environment.join(' ')} "$@"`;
    const daemon = [NODE_PROGRAM, `${PROGRAM}/main.js`, '--config', CONFIG];
    this.node.spawnUser('sh', '-c', script, 'tonearm', ...daemon).stdout.resume();
    await this.is(state);
  }

  async end(): Promise<void> {
    this.stopListening();
    await this.node.root(
      'sh',
      '-c',
      `[ ! -e ${PID} ] || kill $(cat ${PID}); while kill -0 $(cat ${PID}) 2>/dev/null; do sleep 0.02; done; rm -f ${PID}`,
    );
  }

  /** Waits until the backend's state is the given one, and gives its detail. */
  async is(state: string, detail = /(?:)/): Promise<string> {
    let last = '';
    return until(
      `systemd is ${state} ${detail}`,
      async () => {
        const reply = await this.ask('GET', '/health').catch(() => undefined);
        if (reply?.status !== 200) return undefined;
        last = reply.text;
        const health: Health = JSON.parse(reply.text);
        const systemd = health.backends['systemd'];
        const found = systemd?.state === state && detail.test(systemd.detail ?? '');
        return found ? (systemd.detail ?? '') : undefined;
      },
      SEEN_WITHIN_MS,
    ).catch((cause: unknown) => assert.fail(`${String(cause)}; the last was ${last}`));
  }

  /** Milliseconds of processor time that the daemon has had. */
  async cpuMs(): Promise<number> {
    const stat = await this.shell(`cat /proc/$(cat ${PID})/stat`);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** Writes a user unit without a reload. */
  async write(name: string, text: string): Promise<void> {
    const path = `/home/${NODE_USER}/.config/systemd/user/${name}`;
    await this.node.writeFile(path, text);
    await this.node.root('chown', '-R', NODE_USER, `/home/${NODE_USER}/.config`);
  }

  /** POST to a unit's route; gives the status, and the detail of a problem. */
  async post(unit: string, verb: string, scope = 'user'): Promise<readonly [status: number, detail: string]> {
    const { status, text } = await this.ask('POST', `/services/${scope}/${encodeURIComponent(unit)}/${verb}`);
    return [status, text === '' ? '' : JSON.parse(text).detail];
  }

  async services(): Promise<readonly ServiceRecord[]> {
    const { status, text } = await this.ask('GET', '/services');
    assert.equal(status, 200, text);
    return JSON.parse(text);
  }

  async service(name: string): Promise<ServiceRecord> {
    const found = (await this.services()).find((each) => each.name === name);
    return found ?? assert.fail(`${name} is not in the list`);
  }

  /** Waits until the record in the list is as `like` says. */
  async sees(name: string, like: (service: ServiceRecord) => boolean): Promise<ServiceRecord> {
    let last = '';
    return until(
      `the wanted record of ${name}`,
      async () => {
        const service = await this.service(name);
        last = JSON.stringify(service);
        return like(service) ? service : undefined;
      },
      SEEN_WITHIN_MS,
    ).catch((cause: unknown) => assert.fail(`${String(cause)}; the last was ${last}`));
  }

  /** Everything that was said before this is heard when it resolves: a change of `marker.service` has come through. */
  async barrier(heard: readonly Heard[]): Promise<void> {
    const before = toldOf(heard, 'marker.service').length;
    const { active_state: state } = await this.service('marker.service');
    const [status] = await this.post('marker.service', state === 'active' ? 'stop' : 'start');
    assert.equal(status, 202);
    await until('the marker', () => toldOf(heard, 'marker.service').length > before, SEEN_WITHIN_MS);
  }
}

/** What was told of one unit, oldest first. */
export function toldOf(heard: readonly Heard[], name: string): readonly ServiceRecord[] {
  return heard
    .filter(({ type }) => type === 'service.updated')
    .map(({ data }): ServiceRecord => JSON.parse(data))
    .filter((service) => service.name === name);
}
