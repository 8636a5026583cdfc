// A program of the phone that registers a player with BlueZ. The player has titles, and carries out the
// commands that come by the radio.

import type { EmulatedNode } from './node.js';
import { PEER_ADAPTER } from './radio.js';

export const TITLES = ['Evening show', 'Night show'] as const;
export const ARTIST = 'The phone';

const [PEER_ADAPTER_PATH] = PEER_ADAPTER.split(' ');

/**
 * The player changes only when BlueZ passes a command on to it. Debian's python3-dbus can use a main loop of
 * GLib, but cannot run it. So the program runs the main loop by ctypes.
 */
const PLAYER = `import ctypes, os, socket
import dbus, dbus.service
from dbus.mainloop.glib import DBusGMainLoop

INTERFACE = 'org.mpris.MediaPlayer2.Player'
TITLES = ${JSON.stringify(TITLES)}

class Player(dbus.service.Object):
    status = 'Playing'
    track = 0
    def state(self):
        metadata = {'xesam:title': TITLES[self.track], 'xesam:artist': dbus.Array(['${ARTIST}']), 'mpris:length': dbus.Int64(60000000)}
        state = {'PlaybackStatus': self.status, 'Position': dbus.Int64(0), 'Metadata': dbus.Dictionary(metadata, 'sv')}
        return state | dict.fromkeys(['CanControl', 'CanPlay', 'CanPause', 'CanGoNext'], True)
    @dbus.service.method(INTERFACE)
    def Play(self):
        self.status = 'Playing'
        self.PropertiesChanged(INTERFACE, self.state(), [])
    @dbus.service.method(INTERFACE)
    def Pause(self):
        self.status = 'Paused'
        self.PropertiesChanged(INTERFACE, self.state(), [])
    @dbus.service.method(INTERFACE)
    def Next(self):
        self.track = 1
        self.PropertiesChanged(INTERFACE, self.state(), [])
    @dbus.service.signal(dbus.PROPERTIES_IFACE, 'sa{sv}as')
    def PropertiesChanged(self, interface, changed, invalidated):
        pass

bus = dbus.SystemBus(mainloop=DBusGMainLoop())
player = Player(bus, '/player')
adapter = bus.get_object('org.bluez', '${PEER_ADAPTER_PATH}')
dbus.Interface(adapter, 'org.bluez.Media1').RegisterPlayer('/player', dbus.Dictionary(player.state(), 'sv'))
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'READY=1', os.environ['NOTIFY_SOCKET'])
glib = ctypes.CDLL('libglib-2.0.so.0')
glib.g_main_loop_new.restype = ctypes.c_void_p
glib.g_main_loop_run(ctypes.c_void_p(glib.g_main_loop_new(None, 0)))
`;

/** The program is started anew, because a new bluetoothd does not know the old program. */
const START = `cat > /run/phone-player.py
systemctl stop phone-player 2> /dev/null || true
systemd-run --quiet --unit=phone-player --service-type=notify python3 /run/phone-player.py`;

/** Resolves when BlueZ has the phone's player. */
export async function startPlayer(node: EmulatedNode): Promise<void> {
  await node.machine.root(START, PLAYER);
}
