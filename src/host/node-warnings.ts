// Node's own warnings, such as one about too many listeners, as lines of the log. It decides nothing else
// about them.

import type { LogFields } from '../protocol/actor/messages.js';

/**
 * Call it once in each thread: Node would write its warnings as text between the lines of the log.
 * Experiments are used on purpose.
 */
export function logWarnings(log: (level: 'warn', message: string, fields: LogFields) => void): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') log('warn', 'a warning of Node.js', { name, reason: message });
  });
}
