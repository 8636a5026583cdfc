// Where things lie by the XDG Base Directory Specification. Pure: the environment is an argument.

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
  const runtime = absolute(env['XDG_RUNTIME_DIR']) ?? `/run/user/${uid}`;
  return {
    home,
    config: absolute(env['XDG_CONFIG_HOME']) ?? below(home, '.config'),
    runtime,
    // Without a home nothing outlives a reboot; the run's state then lies beside the socket.
    state: absolute(env['XDG_STATE_HOME']) ?? below(home, '.local/state') ?? runtime,
  };
}

/** The specification: a relative path in one of these variables is invalid and ignored, an empty one counts as unset. */
function absolute(path: string | undefined): string | undefined {
  return path?.startsWith('/') ? path.replace(/(?<=.)\/+$/, '') : undefined;
}

function below(home: string, folder: string): string | undefined {
  return home.startsWith('/') ? `${home.replace(/\/+$/, '')}/${folder}` : undefined;
}
