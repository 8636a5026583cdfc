// What keeps SIGUSR1 from opening Node's inspector, by which any local user may run code as the service, from the first moment of
// a process: main.js hears the signal itself, but only once it has been loaded.

/** An address that belongs to no machine (RFC 5737) cannot be listened on. Node 20 has no flag that leaves it out. */
export const NO_INSPECTOR = '--inspect-port=192.0.2.1:9229';
