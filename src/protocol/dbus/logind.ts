// Lists the methods and errors of org.freedesktop.login1 that the daemon uses. Data only. Reference:
// org.freedesktop.login1(5).

import { methodsOf } from './method.js';

const LOGIND_NAME = 'org.freedesktop.login1';

const managerMethod = methodsOf(LOGIND_NAME, '/org/freedesktop/login1', 'org.freedesktop.login1.Manager');

/**
 * `methodsOf` (method.ts) explains the form of a row. Comments name the arguments. An arrow (`->`) stands
 * before the reply.
 */
export const LOGIND_METHODS = {
  /**
   * -> `yes`, `no`, `challenge` (only with a password) or `na` (the machine cannot do it). Without polkit,
   * logind sends an error instead of this reply. `canPowerOff` has the same replies.
   */
  canReboot: managerMethod('CanReboot', ['', 's'], 'none'),
  canPowerOff: managerMethod('CanPowerOff', ['', 's'], 'none'),
  /**
   * -> the inhibitors: what each inhibits (words, separated by colons), who has it, why, mode, user id,
   * process id.
   */
  listInhibitors: managerMethod('ListInhibitors', ['', 'a(ssssuu)'], 'none'),
  /**
   * The argument is true if logind may ask for a password. We send false, because nobody could answer. The
   * machine goes down some milliseconds after the reply. All this is also true of `powerOff`.
   */
  reboot: managerMethod('Reboot', ['b', ''], 'power'),
  powerOff: managerMethod('PowerOff', ['b', ''], 'power'),
} as const;

export const LOGIND_ERRORS = {
  interactiveAuthorizationRequired: 'org.freedesktop.DBus.Error.InteractiveAuthorizationRequired',
  /** The bus sends this error if logind ends before it answers. */
  noReply: 'org.freedesktop.DBus.Error.NoReply',
  accessDenied: 'org.freedesktop.DBus.Error.AccessDenied',
  operationInProgress: 'org.freedesktop.login1.OperationInProgress',
  /**
   * logind sends this error since systemd 257. In this and later versions, inhibitors of the mode `block`
   * apply to everybody.
   */
  blockedByInhibitorLock: 'org.freedesktop.login1.BlockedByInhibitorLock',
} as const;
