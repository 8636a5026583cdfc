// A player on the session bus of a booted node, whose cover is at an address of the house.
// installed-late-parts.ts bundles it, and runs it there until it is killed.

import { metadata, ScriptedPlayer } from '../actors/players/scripted-player.js';

/** The node sends no request to this address, because it is not public. */
const COVER = 'http://10.0.0.1/cover.png';

const bus = { address: `unix:path=/run/user/${process.getuid?.()}/bus` };
/** The player runs until it is killed, so that nothing is done after it. */
const untilKilled = { after: () => undefined };
await ScriptedPlayer.start(untilKilled, bus, 'scripted', { Metadata: metadata({ 'mpris:artUrl': COVER }) });
