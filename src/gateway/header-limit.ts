// Must be imported before uWebSockets.js, which reads this setting from the environment when it is loaded, and nowhere else.

/**
 * The limit of a request's head in bytes; above it uWebSockets.js answers 431. Its default of 4 KiB is less than a browser may send:
 * it sends the cookies of all services on the host, whatever their port. Each connection stores its incomplete head. More than
 * 97 headers are 431 however small they are: that number is built in (measured).
 */
process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(16 * 1024);
