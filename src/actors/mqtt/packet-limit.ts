// Follows the packet lengths in a broker's byte stream, to notice a packet that is too large before it is buffered. Pure.

/** The maximum that is announced to the broker: more than any state of a node. */
export const PACKET_BYTES_MAX = 1 << 20;

/** The length field has at most four bytes of seven bits each (MQTT 5, section 1.5.5). */
const LENGTH_BYTES_MAX = 4;

type FixedHeader = { readonly what: 'type' } | { readonly what: 'length'; value: number; bytes: number };

export class PacketLimit {
  /** Bytes of the packet's body that are still to come. */
  #left = 0;
  #reading: FixedHeader = { what: 'type' };

  /** False if the current packet is too large, or its length is malformed. */
  passes(chunk: Uint8Array): boolean {
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - at);
        this.#left -= taken;
        at += taken;
        continue;
      }
      if (!this.#header(chunk[at] ?? 0)) return false;
      at += 1;
    }
    return true;
  }

  #header(byte: number): boolean {
    if (this.#reading.what === 'type') {
      this.#reading = { what: 'length', value: 0, bytes: 0 };
      return true;
    }
    const { value, bytes } = this.#reading;
    const length = value + (byte & 0x7f) * 128 ** bytes;
    if (length > PACKET_BYTES_MAX || bytes >= LENGTH_BYTES_MAX) return false;
    if ((byte & 0x80) !== 0) this.#reading = { what: 'length', value: length, bytes: bytes + 1 };
    else {
      this.#left = length;
      this.#reading = { what: 'type' };
    }
    return true;
  }
}
