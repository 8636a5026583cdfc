// A second emulated machine on the radio of the first, so that the loudspeaker has a kernel, a bluetoothd and
// a sound server of its own. It gets the second controller, which the first machine gives up.

import { RADIO_PORT } from './machine.js';
import { EmulatedNode } from './node.js';
import { bluetoothOf, CONTROLLERS } from './radio.js';

/**
 * Lets the kernel of one machine, the borrower, use a controller of the other machine, the lender. The
 * program runs on both machines, and carries the packets between them over TCP.
 *
 * - `lent`: the lender's program takes the controller from its kernel by the "user channel" (hci_sock.h of
 *   Linux). Python's own `bind` cannot choose this channel before Python 3.14. systemd passes the listening
 *   socket as descriptor 3.
 * - `borrowed`: the borrower's program makes a controller by /dev/vhci, but only after the lender has sent
 *   `!`, because the borrower's kernel gives up a controller that is silent for 2 s. At 10.0.2.2 each
 *   machine reaches the computer that emulates both. /dev/vhci answers `MAKE_CONTROLLER`, and this answer is
 *   not for the lender.
 * - The loop at the end: the user channel and /dev/vhci take one packet at a time. TCP does not keep packets
 *   apart, so the program reads their lengths.
 */
const PUMP = `
import ctypes, os, socket, struct, sys, threading
# The headers of commands, data, speech and events: a type, and at the end the length of what follows.
HEADERS = {1: '<3xB', 2: '<3xH', 3: '<3xB', 4: '<2xB'}
HCI_CHANNEL_USER = 1
MAKE_CONTROLLER = b'\\xff\\x00'

def lent(index):
    channel = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI)
    address = struct.pack('HHH', socket.AF_BLUETOOTH, index, HCI_CHANNEL_USER)
    if ctypes.CDLL(None).bind(channel.fileno(), address, len(address)):
        sys.exit('the controller is in use')
    other, _ = socket.socket(fileno=3).accept()
    other.sendall(b'!')
    return channel.detach(), other

def borrowed(port):
    other = socket.create_connection(('10.0.2.2', port))
    other.recv(1)
    device = os.open('/dev/vhci', os.O_RDWR)
    os.write(device, MAKE_CONTROLLER)
    return device, other

device, other = {'lend': lent, 'borrow': borrowed}[sys.argv[1]](int(sys.argv[2]))
other.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

def to_other():
    while packet := os.read(device, 4096):
        # The answer of /dev/vhci is none of these.
        if packet[0] in HEADERS:
            other.sendall(packet)

threading.Thread(target=to_other, daemon=True).start()
stream = other.makefile('rb')
while kind := stream.read(1):
    form = HEADERS[kind[0]]
    header = kind + stream.read(struct.calcsize(form) - 1)
    os.write(device, header + stream.read(*struct.unpack(form, header)))
`;
/**
 * Lends the second controller of a new radio. The radio is new, because btvirt 5.82 remembers which side
 * began the last pairing, and may report the end of the next one to the wrong side. The user channel refuses
 * a controller that is on. bluetoothd switches a new controller on by itself. The script waits for this
 * before it switches the controller off, so that bluetoothd does not switch it on afterwards.
 */
const LEND = `cat > /run/radio.py
systemctl stop btvirt
${CONTROLLERS}
until btmgmt --index 1 info | grep -q 'current settings: powered'; do sleep 0.1; done
btmgmt --index 1 power off
systemd-run --quiet --unit=radio --socket-property=ListenStream=${RADIO_PORT} python3 /run/radio.py lend 1`;
const BORROW = (port: number): string => `cat > /run/radio.py
modprobe hci_vhci
systemd-run --quiet --unit=radio python3 /run/radio.py borrow ${port}`;

/** Boots the other machine, which is a node as well, so that the levels at its outputs can be read. */
export async function bootOtherEnd(node: EmulatedNode, settings: string): Promise<EmulatedNode> {
  const other = await EmulatedNode.boot(settings, '--bluetooth');
  try {
    await node.machine.root(LEND, PUMP);
    await other.machine.root(BORROW(node.machine.radio), PUMP);
    for (const each of [node, other]) {
      await bluetoothOf(() => each).untilBackendIs('up');
      await bluetoothOf(() => each).untilAdapterHas({ powered: true });
    }
    return other;
  } catch (error) {
    await other.close();
    throw error;
  }
}
