// Writes dates and times in the browser's language.

import { timeLanguage } from './language.js';

class Times {
  #format: Intl.DateTimeFormat | undefined;

  // The format is made at its first use, because a browser needs 20 ms for it, and a slow phone 100 ms.
  get format(): Intl.DateTimeFormat {
    this.#format ??= new Intl.DateTimeFormat(timeLanguage(), { dateStyle: 'medium', timeStyle: 'short' });
    return this.#format;
  }
}

const times = new Times();

/** The date and time in this device's time zone. `time` is in the form of RFC 3339. */
export function formatTime(time: string): string {
  return times.format.format(new Date(time));
}
