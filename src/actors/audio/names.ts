// Decides the preferred name of a stream of sound (docs/http-api.md, "Names of clients"), from the name and
// the properties in the server's record. Pure. If another stream has that name, `../unique-names.ts` adds
// the stream's id.

/** PulseAudio's name for a stream without media.name. */
const PULSEAUDIO_NO_NAME = '(null)';

/** Each is the `application.id` of a tunnel: of the stream that one sound server plays to another. */
const SOUND_SERVERS: readonly (string | undefined)[] = ['org.PulseAudio.PulseAudio', 'org.pipewire.PipeWire'];

export type Props = Readonly<Record<string, string>>;

/**
 * `HOST (USER)`, or `HOST` if the user is unknown. A tunnel's own name contains the name of our output, and
 * would look like an output. Undefined if the stream is no tunnel, or has no property for its host.
 */
function tunnelName(props: Props): string | undefined {
  const host = props['application.process.host'];
  if (!host || !SOUND_SERVERS.includes(props['application.id'])) return undefined;
  const user = props['application.process.user'];
  return user ? `${host} (${user})` : host;
}

/**
 * The tunnel's name; for other streams the first of these that is not empty: media.name, application.name,
 * the binary, `stream`. `name` is the record's own, which counts where the property media.name is missing.
 */
export function preferredName(name: string | undefined, props: Props): string {
  const tunnel = tunnelName(props);
  if (tunnel !== undefined) return tunnel;
  const streamName = props['media.name'] || (name === PULSEAUDIO_NO_NAME ? undefined : name);
  return streamName || props['application.name'] || props['application.process.binary'] || 'stream';
}
