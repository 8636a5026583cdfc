// Decides the preferred name of a stream of sound (docs/http-api.md, "Names of clients"). Pure. If several
// streams prefer one name, `../unique-names.ts` adds an id to all but the first.

/** PulseAudio's name for a stream without media.name. */
const PULSEAUDIO_UNNAMED = '(null)';

/** The `application.id` of tunnels. A tunnel is a stream that one sound server plays to another. */
const TUNNEL_APPLICATION_IDS = ['org.PulseAudio.PulseAudio', 'org.pipewire.PipeWire'];

export type Props = Readonly<Record<string, string>>;

/**
 * `HOST (USER)`, or `HOST` if the user is unknown. Undefined if the stream is no tunnel, or has no host. The
 * name in a tunnel's record, such as `Null Output for pi@node`, is not used. It begins with the name of the
 * output to which the tunnel plays (`Null Output`), so people could mistake the stream for an output.
 */
function tunnelName(props: Props): string | undefined {
  const host = props['application.process.host'];
  const isTunnel = TUNNEL_APPLICATION_IDS.includes(props['application.id'] ?? '');
  if (!host || !isTunnel) return undefined;
  const user = props['application.process.user'];
  return user ? `${host} (${user})` : host;
}

/** `recordName` is used if the property media.name is missing or empty. */
export function preferredName(recordName: string | undefined, props: Props): string {
  const tunnel = tunnelName(props);
  if (tunnel !== undefined) return tunnel;
  const usableRecordName = recordName === PULSEAUDIO_UNNAMED ? undefined : recordName;
  const streamName = props['media.name'] || usableRecordName;
  return streamName || props['application.name'] || props['application.process.binary'] || 'stream';
}
