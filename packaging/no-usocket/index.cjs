// Stands where dbus-next looks for usocket, an addon that wants a compiler and passes file descriptors, which no call of ours
// does: told that it is not there, dbus-next takes Node's own sockets. A folder of our own, since Debian's npm 9.2 cannot
// read a lock file in which an override names another package.

throw new Error('usocket is not part of tonearm');
