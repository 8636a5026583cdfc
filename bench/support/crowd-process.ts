// The crowds of crowds.ts, in a process of their own. The order `end` is answered with the number of
// connections that were closed since `begin`, or of messages that the broker sent. Arguments: `silent`, the
// server's address and port, the first client address, the number of addresses, the number of connections;
// or `broker` and the branch. The process of a broker first sends the port that it listens on.

import { commandsOfAllKinds, startFloodingBroker } from '../../test/broker/flooding-broker.js';
import { consecutiveAddresses, SilentCrowd } from '../../test/contract/silent-crowd.js';
import { obey } from './fork.js';

const [kind, hostOrBranch = '', port, first = '', hosts, connections] = process.argv.slice(2);

function silent(): void {
  let crowd: SilentCrowd | undefined;
  const to = { host: hostOrBranch, port: Number(port) };
  const begin = (): number => {
    crowd = new SilentCrowd(to, consecutiveAddresses(first, Number(hosts)), Number(connections));
    return 0;
  };
  const end = (): number => {
    crowd?.end();
    return crowd?.closings ?? 0;
  };
  obey(0, { begin, end });
}

async function broker(): Promise<void> {
  const flooding = await startFloodingBroker(commandsOfAllKinds(hostOrBranch));
  const begin = (): number => {
    flooding.sent = 0;
    flooding.flood();
    return 0;
  };
  const end = (): number => {
    flooding.calm();
    return flooding.sent;
  };
  obey(flooding.port, { begin, end });
}

if (kind === 'silent') silent();
else await broker();
