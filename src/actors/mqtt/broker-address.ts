// The broker's address with what has to be read from files for it: the password, and the certificates that are trusted. Read anew for each
// connection, so that what an administrator changes there holds from the next one.

import { readFile, stat } from 'node:fs/promises';
import type { MqttSettings } from '../../protocol/actor/settings.js';
import type { BrokerAddress } from './broker.js';

/** Where Debian keeps what an administrator trusts; Node looks at its own list instead. */
const SYSTEM_CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const FILE_BYTES_MAX = 4 << 20;

export type AddressRead =
  | { readonly ok: true; readonly address: BrokerAddress }
  | { readonly ok: false; readonly reason: string };

type TextRead =
  | { readonly ok: true; readonly text: string | undefined }
  | { readonly ok: false; readonly reason: string };

const NONE: TextRead = { ok: true, text: undefined };

export async function brokerAddress(settings: MqttSettings): Promise<AddressRead> {
  const { url = '', username, passwordFile, caFile } = settings;
  const password = passwordFile === undefined ? NONE : await textOf(passwordFile, 'mqtt.passwordFile');
  if (!password.ok) return password;
  const ca = url.startsWith('mqtts:') ? await certificates(caFile) : NONE;
  if (!ca.ok) return ca;
  // An editor ends a file with a line feed; no password ends so.
  const secret = password.text?.replace(/\r?\n$/, '');
  return { ok: true, address: { url, username, password: secret, ca: ca.text } };
}

async function certificates(caFile: string | undefined): Promise<TextRead> {
  if (caFile !== undefined) return textOf(caFile, 'mqtt.caFile');
  const system = await textOf(SYSTEM_CERTIFICATES, 'the system');
  return system.ok ? system : NONE;
}

async function textOf(path: string, key: string): Promise<TextRead> {
  try {
    const { size } = await stat(path);
    if (size > FILE_BYTES_MAX)
      return { ok: false, reason: `${key}: ${path} is larger than ${FILE_BYTES_MAX} bytes` };
    return { ok: true, text: await readFile(path, 'utf8') };
  } catch (error) {
    return { ok: false, reason: `${key}: ${error instanceof Error ? error.message : String(error)}` };
  }
}
