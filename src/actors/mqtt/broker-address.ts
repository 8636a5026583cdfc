// Decides how a broker is reached: its address, the user name and password, and the certificates. The files
// are read for each attempt to connect, so that an administrator's change is in force from the next attempt
// on.

import type { Clock } from '../../host/clock.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import { inTime, readSmallFile } from '../small-file.js';
import { odditiesOf, passwordIn } from './password-file.js';

export interface BrokerAddress {
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** For people: what is unusual in the password's file; undefined if nothing is. */
  readonly oddities?: string | undefined;
  /** Trusted certificates in PEM. If undefined, Node's own list is used. */
  readonly ca?: string | undefined;
}

/**
 * Debian's file of trusted certificates. It is preferred to Node's own list because an administrator may add
 * the certificate of the house to it.
 */
const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const FILE_BYTES_MAX = 4 << 20;
/**
 * The permissions by which users other than the owner could read the password (docs/configuration.md,
 * "MQTT"). The configuration is checked for them at the start, but the mode may have changed since.
 */
const READABLE_BY_OTHERS = 0o044;

/** The error is a text for people. */
export async function brokerAddress(
  settings: MqttSettings,
  clock: Clock,
): Promise<Result<BrokerAddress, string>> {
  const { url = '', username, passwordFile, caFile } = settings;
  const secret = await readBytes(passwordFile, 'mqtt.passwordFile', clock, READABLE_BY_OTHERS);
  if (!secret.ok) return secret;
  const certificateFile = url.startsWith('mqtts:') ? (caFile ?? SYSTEM_CERTIFICATES) : undefined;
  const certificates = await readBytes(certificateFile, 'mqtt.caFile', clock);
  // A machine without Debian's file still has Node's own list.
  if (!certificates.ok && caFile !== undefined) return certificates;
  const pem = certificates.ok ? certificates.value : undefined;
  const ca = pem === undefined ? undefined : Buffer.from(pem).toString();
  if (secret.value === undefined) return success({ url, username, ca });
  const problems = odditiesOf(secret.value).join(', ');
  const oddities = problems === '' ? undefined : `mqtt.passwordFile: ${passwordFile}: ${problems}`;
  return success({ url, username, password: passwordIn(secret.value), oddities, ca });
}

/**
 * Undefined without a path. The error, a text for people, begins with the configuration's `key`. It is an
 * error if the file's mode has one of the bits `forbiddenMode`, or if the disk does not answer in time.
 */
async function readBytes(
  path: string | undefined,
  key: string,
  clock: Clock,
  forbiddenMode = 0,
): Promise<Result<Uint8Array | undefined, string>> {
  if (path === undefined) return success(undefined);
  const file = await inTime(clock, readSmallFile(path, FILE_BYTES_MAX));
  const failure = (problem: string) => failed(`${key}: ${path}: ${problem}`);
  if (!file.ok) return failure(file.error.problem);
  if ((file.value.mode & forbiddenMode) !== 0)
    return failure('others can read this file: run chmod 600 on it');
  return success(file.value.bytes);
}
