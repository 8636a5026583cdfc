// The MQTT bridge's thread: wires the bridge to the runtime, and nothing else.

import { networkInterfaces, userInfo } from 'node:os';
import { systemClock } from '../../clock.js';
import type { ActorTask } from '../../protocol/actor/messages.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import { runBridge } from '../runtime.js';
import { MqttBridge } from './bridge.js';
import { dialBroker } from './broker.js';
import type { InterfaceAddresses } from './home-assistant.js';
import { readIdentifier } from './node-identity.js';

export default function work(task: ActorTask<MqttSettings>): Promise<void> {
  return runBridge<'mqtt'>(
    task,
    (settings, node) =>
      new MqttBridge({
        ...{ settings, node, clock: systemClock, dial: dialBroker },
        interfaces: interfacesNow,
        identifier: () => readIdentifier(userInfo().uid),
      }),
  );
}

/** Empty if the system call fails, as without a free descriptor; the addresses are read again later. */
function interfacesNow(): InterfaceAddresses {
  try {
    return networkInterfaces();
  } catch {
    return {};
  }
}
