// Takes the place of usocket, which dbus-next loads if it can. usocket is an addon that needs a compiler, and
// passes file descriptors, which no call of the daemon does. Without it dbus-next uses Node's own sockets.
// It is a folder of the project, because Debian's npm 9.2 cannot read a lock file in which an override names
// another package.

throw new Error('usocket is not part of tonearm');
