// Decides how a broker is reached: its address, name, password and certificates. The files are read anew for
// each connection, so that an administrator's changes apply from the next one.

import type { Clock } from '../../host/clock.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import { inTime, readSmallFile } from '../small-file.js';
import { odditiesOf, passwordIn } from './password-file.js';

export interface BrokerAddress {
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** For people: what is odd about the password's file. */
  readonly oddities?: string | undefined;
  /** Certificates in PEM; if absent, Node's own. */
  readonly ca?: string | undefined;
}

/**
 * Debian's file of trusted certificates, which an administrator may extend; Node would use only its own list.
 */
const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const FILE_BYTES_MAX = 4 << 20;
/**
 * No other user may read a secret (docs/configuration.md, "MQTT"); checked here too, because the mode may
 * have changed since the start.
 */
const READ_BY_OTHERS = 0o044;

/** The error is a text for people. */
export async function brokerAddress(
  settings: MqttSettings,
  clock: Clock,
): Promise<Result<BrokerAddress, string>> {
  const { url = '', username, passwordFile, caFile } = settings;
  const secret = await readBytes(passwordFile, 'mqtt.passwordFile', clock, READ_BY_OTHERS);
  if (!secret.ok) return secret;
  const certificates = url.startsWith('mqtts:') ? (caFile ?? SYSTEM_CERTIFICATES) : undefined;
  const read = await readBytes(certificates, 'mqtt.caFile', clock);
  if (!read.ok && caFile !== undefined) return read;
  const ca = read.ok && read.value !== undefined ? Buffer.from(read.value).toString() : undefined;
  if (secret.value === undefined) return success({ url, username, ca });
  const odd = odditiesOf(secret.value).join(', ');
  const oddities = odd === '' ? undefined : `mqtt.passwordFile: ${passwordFile}: ${odd}`;
  return success({ url, username, password: passwordIn(secret.value), oddities, ca });
}

/**
 * A disk that does not answer is a failure like others, and the next attempt reads again. `forbidden` are
 * bits of the file's mode.
 */
async function readBytes(
  path: string | undefined,
  key: string,
  clock: Clock,
  forbidden = 0,
): Promise<Result<Uint8Array | undefined, string>> {
  if (path === undefined) return success(undefined);
  const file = await inTime(clock, readSmallFile(path, FILE_BYTES_MAX));
  const unfit = (text: string) => failed(`${key}: ${path}: ${text}`);
  if (!file.ok) return unfit(file.error.problem);
  if ((file.value.mode & forbidden) !== 0) return unfit('others can read this file: run chmod 600 on it');
  return success(file.value.bytes);
}
