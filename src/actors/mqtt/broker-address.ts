// The broker's address with the file contents that it needs: the password and the trusted certificates. Read anew for each connection, so
// that an administrator's changes apply from the next one.

import type { Clock } from '../../clock.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import { inTime, readSmallFile } from '../small-file.js';
import type { BrokerAddress } from './broker.js';

/** Debian's file of trusted certificates, which an administrator may extend; Node would use only its own list. */
const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const FILE_BYTES_MAX = 4 << 20;
/** No other user may read a secret (docs/configuration.md, "MQTT"); checked here too, because the mode may have changed since the start. */
const READ_BY_OTHERS = 0o044;

type Read<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export async function brokerAddress(settings: MqttSettings, clock: Clock): Promise<Read<BrokerAddress>> {
  const { url = '', username, passwordFile, caFile } = settings;
  const password = await readText(passwordFile, 'mqtt.passwordFile', clock, READ_BY_OTHERS);
  if (!password.ok) return password;
  const certificates = url.startsWith('mqtts:') ? (caFile ?? SYSTEM_CERTIFICATES) : undefined;
  const read = await readText(certificates, 'mqtt.caFile', clock);
  if (!read.ok && caFile !== undefined) return read;
  // Editors end a file with a line feed; no password ends in one.
  const secret = password.value?.replace(/\r?\n$/, '');
  const ca = read.ok ? read.value : undefined;
  return { ok: true, value: { url, username, password: secret, ca } };
}

/** A disk that does not answer is a failure like others, and is tried again. `forbidden` are bits of the file's mode. */
async function readText(
  path: string | undefined,
  key: string,
  clock: Clock,
  forbidden = 0,
): Promise<Read<string | undefined>> {
  if (path === undefined) return { ok: true, value: undefined };
  const file = await inTime(clock, readSmallFile(path, FILE_BYTES_MAX));
  const why = (text: string): Read<never> => ({ ok: false, reason: `${key}: ${path}: ${text}` });
  if (!file.ok) return why(file.problem);
  if ((file.mode & forbidden) !== 0) return why('others can read this file: run chmod 600 on it');
  return { ok: true, value: Buffer.from(file.bytes).toString() };
}
