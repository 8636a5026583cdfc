// Runs a scripted player on the session bus of a booted node. The player's cover is at an address of a local
// network. installed-late-parts.ts bundles this file, runs it on the node, and kills it.

import { metadata, ScriptedPlayer } from '../actors/players/scripted-player.js';

/** The node sends no request to this address, because it is not public. */
const COVER = 'http://10.0.0.1/cover.png';

const bus = { address: `unix:path=/run/user/${process.getuid?.()}/bus` };
/** `start` passes its clean-up to `after`. Nothing runs it, because this program is killed. */
const untilKilled = { after: () => undefined };
await ScriptedPlayer.start(untilKilled, bus, 'scripted', { Metadata: metadata({ 'mpris:artUrl': COVER }) });
