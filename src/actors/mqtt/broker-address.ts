// Decides how a broker is reached: its URL, the user name and password, and the certificates. Each attempt to
// connect reads the password's file and the certificates' file again, because an administrator may have
// changed these files.

import type { Clock } from '../../host/clock.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import { readInTime, readSmallFile } from '../small-file.js';
import { odditiesOf, passwordIn } from './password-file.js';

export interface BrokerAddress {
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** For people: what is unusual in the password's file; undefined if nothing is unusual. */
  readonly passwordOddities?: string | undefined;
  /** Trusted certificates in PEM. If undefined, Node.js's own list is used. */
  readonly ca?: string | undefined;
}

/**
 * Debian's file of trusted certificates. An administrator may have added the certificate of a private
 * authority to this file, so the file is preferred to Node.js's own list.
 */
const SYSTEM_CERTIFICATES_FILE = '/etc/ssl/certs/ca-certificates.crt';
/** A larger file is refused. Debian's file of certificates has about 220 kB. */
const FILE_MAX_BYTES = 4 << 20;
/**
 * These mode bits let group and others read the password (docs/configuration.md, "MQTT"). The daemon checks
 * the mode at its start, but somebody may have changed the mode since.
 */
const READABLE_BY_OTHERS = 0o044;

/** The error is a text for people. */
export async function brokerAddress(
  settings: MqttSettings,
  clock: Clock,
): Promise<Result<BrokerAddress, string>> {
  const { url = '', username, passwordFile, caFile } = settings;
  const passwordResult = await readBytes(passwordFile, 'mqtt.passwordFile', clock, READABLE_BY_OTHERS);
  if (!passwordResult.ok) return passwordResult;
  // A scheme may have capitals (RFC 3986, section 3.1).
  const certificateFile = /^mqtts:/i.test(url) ? (caFile ?? SYSTEM_CERTIFICATES_FILE) : undefined;
  const certificatesResult = await readBytes(certificateFile, 'mqtt.caFile', clock);
  // A configured file must be readable. Debian's file may be missing, because Node.js has a list of its own.
  if (!certificatesResult.ok && caFile !== undefined) return certificatesResult;
  const pem = certificatesResult.ok ? certificatesResult.value : undefined;
  const ca = pem === undefined ? undefined : Buffer.from(pem).toString();
  if (passwordResult.value === undefined) return success({ url, username, ca });
  const joinedOddities = odditiesOf(passwordResult.value).join(', ');
  const passwordOddities =
    joinedOddities === '' ? undefined : `mqtt.passwordFile: ${passwordFile}: ${joinedOddities}`;
  return success({ url, username, password: passwordIn(passwordResult.value), passwordOddities, ca });
}

/**
 * The value is undefined if there is no path. The result is an error if the file cannot be read in time, or
 * if its mode has one of `forbiddenModeBits`. The error is a text for people, and begins with `key`, which is
 * the configuration's key for the path.
 */
async function readBytes(
  path: string | undefined,
  key: string,
  clock: Clock,
  forbiddenModeBits = 0,
): Promise<Result<Uint8Array | undefined, string>> {
  if (path === undefined) return success(undefined);
  const file = await readInTime(clock, readSmallFile(path, FILE_MAX_BYTES));
  const failure = (problem: string) => failed(`${key}: ${path}: ${problem}`);
  if (!file.ok) return failure(file.error.problem);
  if ((file.value.mode & forbiddenModeBits) !== 0)
    return failure('others can read this file: run chmod 600 on it');
  return success(file.value.bytes);
}
