// The text of `tonearm --help`. This file imports nothing, because a Node that is too old for the program
// prints the text, too (old-node.ts).

export const HELP = `Usage: tonearm [--config PATH] [--allow-root]
       tonearm [--config PATH] --check-config
       tonearm ctl OPERATION ...
       tonearm progress ...
       tonearm bench [--seconds N] [--json]
       tonearm trace [--raw FILE] [--data] [--json] [-- COMMAND...]

Controls one networked audio node over HTTP and server-sent events.

  --config PATH    read PATH and the folder conf.d beside it; without this
                   option, the first that exists of
                   $XDG_CONFIG_HOME/tonearm/config.yaml (by default
                   ~/.config/tonearm/config.yaml) and
                   /etc/tonearm/config.yaml, else built-in defaults
  --allow-root     start even as root, which is refused otherwise
  --check-config   print the effective configuration, or its problems
  --version        print the version
  --help           print this text

  ctl ...          ask a node, or let it do something, for scripts and terminals
  progress ...     write one line of upgrade progress, for shell scripts
  bench ...        measure what this machine and its sound server can carry
  trace ...        show the messages between programs and the sound server

Exit status: 0 success, 64 wrong usage, 69 cannot listen, 74 cannot write,
             77 refuses to run as root, 78 wrong configuration,
             126 cannot run here: the processor is too old (ARMv6), or there is
             no binary for this Node, processor or C library
`;
