// Packed numbers, and chunks of compressed bytes out of the page.

/** Reads bytes one after the other. */
export class Bytes {
  at = 0;
  constructor(private readonly bytes: Uint8Array) {}

  get left(): number {
    return this.bytes.length - this.at;
  }

  byte(): number {
    return this.bytes[this.at++] ?? 0;
  }

  /** LEB128; beyond 2^53 it is not exact, which no time of a run is. */
  number(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }

  take(count: number): Uint8Array {
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }
}

function decoded(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

/** The bytes of the script element `id`, unpacked. */
export async function unpack(id: string): Promise<Uint8Array> {
  const text = document.getElementById(id)?.textContent ?? '';
  const stream = new Blob([decoded(text)]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The same as JSON. */
export async function unpackJson<T>(id: string): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await unpack(id))) as T;
}
