// Client names: how a stream is called, with no two live streams of the same name (docs/http-api.md, "Names
// of clients"). Pure. It knows only a name and a property list of the server's records.

export { UniqueNames as ClientNames } from '../unique-names.js';

/** PulseAudio's name for a stream without media.name. */
const PULSEAUDIO_NO_NAME = '(null)';

/** The `application.id` of a sound server, which it has where it plays to another one: a tunnel. */
const SOUND_SERVERS: readonly (string | undefined)[] = ['org.PulseAudio.PulseAudio', 'org.pipewire.PipeWire'];

export type Props = Readonly<Record<string, string>>;

/** `HOST (USER)`: a tunnel's own name is made of this node's output, and reads like one. */
function tunnelName(props: Props): string | undefined {
  const host = props['application.process.host'];
  if (!host || !SOUND_SERVERS.includes(props['application.id'])) return undefined;
  const user = props['application.process.user'];
  return user ? `${host} (${user})` : host;
}

/**
 * The name a stream gets if no other has it: a tunnel's, media.name, application.name, the binary, or
 * `stream`.
 */
export function preferredName(name: string | undefined, props: Props): string {
  const tunnel = tunnelName(props);
  if (tunnel !== undefined) return tunnel;
  const own = props['media.name'] || (name === PULSEAUDIO_NO_NAME ? undefined : name);
  return own || props['application.name'] || props['application.process.binary'] || 'stream';
}
