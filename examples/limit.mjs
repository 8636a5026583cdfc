// Keeps every output at 60 % or below, and prints what plays:
//
//   npm install ./tonearm-client-*.tgz
//   node limit.mjs http://node.local:8018

import { connect, ProblemError, tonearm } from 'tonearm-client';

const MOST = 0.6;

const node = tonearm(process.argv[2]);
const live = connect(node);

live.subscribe('connection', ({ status, problem }) => console.log(status, problem?.title ?? ''));

live.subscribe('clients', (clients) => {
  const playing = [...clients.values()].filter(({ corked }) => !corked);
  console.log('plays:', playing.map(({ name }) => name).join(', '));
});

live.subscribe('outputs', async (outputs) => {
  for (const { id, name, volume } of outputs.values()) {
    if (volume <= MOST) continue;
    try {
      await node.setOutputVolume(id, { volume: MOST });
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      console.log(`${name}: ${error.message}`);
    }
  }
});
