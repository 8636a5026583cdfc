// Where things lie by the XDG Base Directory Specification. Pure: the environment is an argument.

import { runtimeDirectory, xdgDirectory } from '../../runtime-directory.js';

export interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Home directory; '' when there is none. */
  readonly home: string;
  readonly uid: number;
}

/** Absolute directories; `config` is absent when there is neither a home nor an XDG variable to find it by. */
export interface Directories {
  readonly home: string;
  readonly config: string | undefined;
  readonly runtime: string;
  readonly state: string;
}

export function directoriesOf({ env, home, uid }: Environment): Directories {
  const runtime = runtimeDirectory(env, uid);
  return {
    home,
    config: xdgDirectory(env['XDG_CONFIG_HOME']) ?? below(home, '.config'),
    runtime,
    // Without a home nothing outlives a reboot; the run's state then lies beside the socket.
    state: xdgDirectory(env['XDG_STATE_HOME']) ?? below(home, '.local/state') ?? runtime,
  };
}

function below(home: string, folder: string): string | undefined {
  return home.startsWith('/') ? `${home.replace(/\/+$/, '')}/${folder}` : undefined;
}
