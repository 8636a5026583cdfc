// Times as texts: which are RFC 3339, and how ours are written. Pure.
// Reference: RFC 3339, section 5.6 (the grammar) and 5.7 (the ranges).

const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

const MINUTES_PER_DAY = 24 * 60;

/** Whether `text` is an RFC 3339 date-time of a day that exists. A leap second is one only at 23:59:60 UTC. */
export function isRfc3339(text: string): boolean {
  const found = DATE_TIME.exec(text);
  if (found === null) return false;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  if (hour === undefined || minute === undefined || second === undefined) return false;
  const [offsetHour, offsetMinute] = [Number(found[8] ?? 0), Number(found[9] ?? 0)];
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return false;
  if (hour > 23 || minute > 59 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  const offset = (found[7] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  const utc = hour * 60 + minute - offset;
  return second === 60 && (utc + MINUTES_PER_DAY) % MINUTES_PER_DAY === MINUTES_PER_DAY - 1;
}

function daysIn(year: number, month: number): number {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (month === 2) return leap ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** Milliseconds since the epoch as the contract writes the times of a run: RFC 3339, UTC, seconds. */
export function utcSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
