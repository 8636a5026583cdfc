// Writes Node's own warnings, such as one about too many listeners, as lines of the log.

import type { LogFields } from '../protocol/actor/messages.js';

/**
 * To be called once in each thread, because Node would else write its warnings as text between the lines of
 * the log. Warnings about experimental functions are left out, because the daemon uses such functions on
 * purpose.
 */
export function logWarnings(log: (level: 'warn', message: string, fields: LogFields) => void): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') log('warn', 'a warning of Node.js', { name, reason: message });
  });
}
