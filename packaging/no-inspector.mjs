// Keeps SIGUSR1 from opening Node's inspector, which would let any local user run code as the service.
// main.js has a handler for the signal, but only once it has been loaded; this works from the first moment of
// a process.

/**
 * Node cannot listen on an address that belongs to no machine (RFC 5737). No flag of Node 20 turns the
 * inspector off.
 */
export const NO_INSPECTOR = '--inspect-port=192.0.2.1:9229';
