// Writes dates and times in the page's language.

import { timeLanguage } from './language.js';

class Times {
  #format: Intl.DateTimeFormat | undefined;

  // The first use makes the format. A browser needs 20 ms for this, and 100 ms on a slow phone. A page that
  // writes no date does not wait for the format.
  get format(): Intl.DateTimeFormat {
    this.#format ??= new Intl.DateTimeFormat(timeLanguage(), { dateStyle: 'medium', timeStyle: 'short' });
    return this.#format;
  }
}

const times = new Times();

/** Returns the date and time in the browser's time zone. `time` has the form of RFC 3339. */
export function formatTime(time: string): string {
  return times.format.format(new Date(time));
}
