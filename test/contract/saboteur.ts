// Loaded into the daemon by `--import`, for tests only: on a signal it runs code in an actor's thread through the
// inspector, so that a thread of the shipped build can be ended or hung from outside. SIGUSR2: hang. SIGWINCH: exit.

import { Session } from 'node:inspector';

const SABOTAGE = { SIGUSR2: 'for (;;) {}', SIGWINCH: 'process.exit(7)' } as const;

/** Held on to: a session that is garbage-collected takes its order with it. */
const sessions: Session[] = [];

interface Attached {
  readonly params: { readonly sessionId: string };
}

function sabotage(expression: string): void {
  const session = new Session();
  sessions.push(session);
  session.connect();
  // Threads that start later are attached, too; those are the ones that must live.
  session.once('NodeWorker.attachedToWorker', ({ params }: Attached) => {
    const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } });
    session.post('NodeWorker.sendMessageToWorker', { sessionId: params.sessionId, message });
  });
  session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
}

for (const [signal, expression] of Object.entries(SABOTAGE)) {
  process.on(signal, () => sabotage(expression));
}
