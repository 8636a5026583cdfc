// Runs the daemon on the node for the scenarios of service units, and reads and changes the units.

import assert from 'node:assert/strict';
import type { ServiceRecord } from '../../../src/protocol/actor/schemas.js';
import { until } from '../../until.js';
import { NODE_USER } from '../node.js';
import { DaemonOnNode, type ReceivedEvents } from './daemon-on-node.js';

export class SystemdDaemon extends DaemonOnNode {
  /**
   * Starts the daemon anew and waits for its systemd backend. `section` is the value of the section
   * `systemd` in YAML's flow style. Further lines of it may have other sections.
   */
  async begin(section: string): Promise<void> {
    await this.launch(`systemd: ${section}\n`);
    await this.untilUp('systemd');
  }

  /** Writes a user unit without a reload. */
  async write(name: string, text: string): Promise<void> {
    const path = `/home/${NODE_USER}/.config/systemd/user/${name}`;
    await this.node.writeFile(path, text);
    await this.node.root('chown', '-R', NODE_USER, `/home/${NODE_USER}/.config`);
  }

  /** Removes a user unit's file, and has the manager reload. */
  async remove(name: string): Promise<void> {
    await this.shell(`rm ~/.config/systemd/user/${name}; systemctl --user daemon-reload`);
  }

  /** Starts a unit by systemctl, and waits until the daemon lists it as running. */
  async startUnit(name: string): Promise<void> {
    await this.systemctl('start', name);
    await this.waitFor(name, ({ running }) => running);
  }

  /** Stops a unit by systemctl, and waits until the daemon lists it as inactive. */
  async stopUnit(name: string): Promise<void> {
    await this.systemctl('stop', name);
    await this.waitFor(name, ({ active_state: state }) => state === 'inactive');
  }

  /**
   * POSTs to a unit's route. Resolves with the status, and with the detail of a problem or an empty text.
   */
  async post(unit: string, verb: string, scope = 'user'): Promise<readonly [status: number, detail: string]> {
    const { status, text } = await this.ask('POST', `/services/${scope}/${encodeURIComponent(unit)}/${verb}`);
    return [status, text === '' ? '' : JSON.parse(text).detail];
  }

  services(): Promise<readonly ServiceRecord[]> {
    return this.node.read('/services');
  }

  async service(name: string): Promise<ServiceRecord> {
    const found = (await this.services()).find((service) => service.name === name);
    return found ?? assert.fail(`${name} is not in the list`);
  }

  /** Waits until the record in the list is as expected. */
  async waitFor(name: string, isExpected: (service: ServiceRecord) => boolean): Promise<ServiceRecord> {
    return until(`the expected record of ${name}`, async () => {
      const service = await this.service(name);
      assert.ok(isExpected(service), JSON.stringify(service));
      return service;
    });
  }

  /**
   * Resolves when all events sent before this call have arrived. Events arrive in order, so it is enough to
   * change `marker.service`, and to wait for the event of this change.
   */
  async barrier(received: ReceivedEvents): Promise<void> {
    const before = eventsOfUnit(received, 'marker.service').length;
    const { active_state: state } = await this.service('marker.service');
    const [status] = await this.post('marker.service', state === 'active' ? 'stop' : 'start');
    assert.equal(status, 202);
    await until('the marker is published', () => eventsOfUnit(received, 'marker.service').length > before);
  }
}

/** The records of one unit in the events, oldest first. */
export function eventsOfUnit(received: ReceivedEvents, name: string): readonly ServiceRecord[] {
  const updates = received.filter(({ type }) => type === 'service.updated');
  return updates.map(({ data }) => JSON.parse(data)).filter((service) => service.name === name);
}
