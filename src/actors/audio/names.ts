// Client names: how a stream is called, with no two live streams of the same name (docs/http-api.md, "Names
// of clients"). Pure. It knows only a name and a property list of the server's records.

export { UniqueNames as ClientNames } from '../unique-names.js';

/** PulseAudio's name for a stream without media.name. */
const PULSEAUDIO_NO_NAME = '(null)';

export type Props = Readonly<Record<string, string>>;

/** The name a stream gets if no other has it: media.name, application.name, the binary, or `stream`. */
export function preferredName(name: string | undefined, props: Props): string {
  const own = props['media.name'] || (name === PULSEAUDIO_NO_NAME ? undefined : name);
  return own || props['application.name'] || props['application.process.binary'] || 'stream';
}
