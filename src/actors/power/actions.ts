// What the power backend can do, as a table: each action's switch, its two logind methods, what systemd does for it, and the
// permissions it needs.
// Data only.

import type { PowerCommand } from '../../protocol/actor/commands.js';
import type { PowerSettings } from '../../protocol/actor/settings.js';
import { LOGIND_METHODS } from '../../protocol/dbus/logind.js';

export type PowerAction = Exclude<PowerCommand['do'], 'status'>;

export interface ActionRow {
  /** For people: what is done to the machine. */
  readonly noun: string;
  readonly capability: keyof PowerSettings['capabilities'];
  readonly question: (typeof LOGIND_METHODS)['canReboot'];
  readonly order: (typeof LOGIND_METHODS)['reboot'];
  /** The unit that systemd starts when logind has accepted. */
  readonly target: string;
  /** The polkit action, and the one that is asked instead while other users have a session. */
  readonly permissions: readonly [alone: string, amongOthers: string];
}

export const ACTIONS: { readonly [A in PowerAction]: ActionRow } = {
  reboot: {
    noun: 'reboot',
    capability: 'reboot',
    question: LOGIND_METHODS.canReboot,
    order: LOGIND_METHODS.reboot,
    target: 'reboot.target',
    permissions: ['org.freedesktop.login1.reboot', 'org.freedesktop.login1.reboot-multiple-sessions'],
  },
  poweroff: {
    noun: 'power-off',
    capability: 'poweroff',
    question: LOGIND_METHODS.canPowerOff,
    order: LOGIND_METHODS.powerOff,
    target: 'poweroff.target',
    permissions: ['org.freedesktop.login1.power-off', 'org.freedesktop.login1.power-off-multiple-sessions'],
  },
};
