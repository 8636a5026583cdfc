// Decides which name a stream of sound gets if no other has it (docs/http-api.md, "Names of clients"), from
// the name and the properties in the server's record. Pure. That no two streams share a name is the work of
// unique-names.ts.

/** PulseAudio's name for a stream without media.name. */
const PULSEAUDIO_NO_NAME = '(null)';

/** The `application.id` of a tunnel: a sound server that plays to another one. */
const SOUND_SERVERS: readonly (string | undefined)[] = ['org.PulseAudio.PulseAudio', 'org.pipewire.PipeWire'];

export type Props = Readonly<Record<string, string>>;

/**
 * `HOST (USER)` instead of a tunnel's own name, which contains the name of our output and so looks like one.
 */
function tunnelName(props: Props): string | undefined {
  const host = props['application.process.host'];
  if (!host || !SOUND_SERVERS.includes(props['application.id'])) return undefined;
  const user = props['application.process.user'];
  return user ? `${host} (${user})` : host;
}

/** The tunnel's name, or the first that is not empty: media.name, application.name, the binary, `stream`. */
export function preferredName(name: string | undefined, props: Props): string {
  const tunnel = tunnelName(props);
  if (tunnel !== undefined) return tunnel;
  const streamName = props['media.name'] || (name === PULSEAUDIO_NO_NAME ? undefined : name);
  return streamName || props['application.name'] || props['application.process.binary'] || 'stream';
}
