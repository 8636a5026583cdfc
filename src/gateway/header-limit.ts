// Imported before uWebSockets.js, which reads its one setting as it is loaded, from the environment and from nowhere else.

/**
 * A request's head in bytes; a larger one is uWebSockets.js' own 431. Its default of 4 KiB is less than a browser may send: the
 * cookies of every service on the host, whatever their port. A head that is incomplete is kept, for each connection. More than
 * 97 headers are 431 however small they are: that number is built in (measured).
 */
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(16 * 1024);
