// Which methods and errors of org.freedesktop.login1 are in use. Data only. Reference:
// org.freedesktop.login1(5).

import { methodsOf } from './method.js';

const LOGIND_NAME = 'org.freedesktop.login1';

const managerMethod = methodsOf(LOGIND_NAME, '/org/freedesktop/login1', 'org.freedesktop.login1.Manager');

/**
 * `methodsOf` (method.ts) explains the form of a row. Comments name the arguments, and the reply after `->`.
 */
export const LOGIND_METHODS = {
  /**
   * -> `yes`, `no`, `challenge` (only with a password) or `na` (the machine cannot do it). An error is
   * received in place of the reply if there is no polkit.
   */
  canReboot: managerMethod('CanReboot', ['', 's'], 'none'),
  canPowerOff: managerMethod('CanPowerOff', ['', 's'], 'none'),
  /** -> a row for each inhibitor: what (words with colons between), who, why, mode, user id, process id. */
  listInhibitors: managerMethod('ListInhibitors', ['', 'a(ssssuu)'], 'none'),
  /**
   * The argument is true if logind may ask for a password. We send false, because nobody could answer.
   * The machine goes down some milliseconds after the reply.
   */
  reboot: managerMethod('Reboot', ['b', ''], 'power'),
  powerOff: managerMethod('PowerOff', ['b', ''], 'power'),
} as const;

export const LOGIND_ERRORS = {
  interactiveAuthorizationRequired: 'org.freedesktop.DBus.Error.InteractiveAuthorizationRequired',
  /** Sent by the bus if logind has ended before it answered. */
  noReply: 'org.freedesktop.DBus.Error.NoReply',
  accessDenied: 'org.freedesktop.DBus.Error.AccessDenied',
  operationInProgress: 'org.freedesktop.login1.OperationInProgress',
  /** Sent since systemd 257, because inhibitors of the mode `block` apply to everybody since then. */
  blockedByInhibitorLock: 'org.freedesktop.login1.BlockedByInhibitorLock',
} as const;
