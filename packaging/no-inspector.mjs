// Keeps SIGUSR1 from opening Node's inspector, which would let any local user run code as the service.
// main.js has a handler for the signal, but only once it has been loaded; this works from the first moment of
// a process.

/**
 * An address that belongs to no machine (RFC 5737) cannot be listened on. Node 20 has no flag that leaves it
 * out.
 */
export const NO_INSPECTOR = '--inspect-port=192.0.2.1:9229';
