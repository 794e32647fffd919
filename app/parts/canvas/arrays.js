// Reads arrays from a message of the server.

const KINDS = {
  u1: Uint8Array,
  u2: Uint16Array,
  i4: Int32Array,
  f4: Float32Array,
  f8: Float64Array,
};

// Decompress a message of known size, bytes.
export async function inflate(data, size) {
  const bytes = new Uint8Array(size);
  const { readable, writable } = new DecompressionStream("deflate");
  const writer = writable.getWriter();
  writer.write(new Uint8Array(data));
  writer.close();
  const reader = readable.getReader();
  let start = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes.set(part.value, start);
    start += part.value.length;
  }
  return bytes.buffer;
}

// Return named arrays from a buffer, where arrays with larger items come first.
export function unpackArrays(plan, buffer) {
  const arrays = {};
  let start = 0;
  for (const [name, kind, length] of plan) {
    const Kind = KINDS[kind];
    arrays[name] = new Kind(buffer, start, length);
    start += length * Kind.BYTES_PER_ELEMENT;
  }
  return arrays;
}

// Return a message's arrays by name.
export async function readArrays({ plan, data, size, is_packed: isPacked }) {
  return unpackArrays(plan, isPacked ? await inflate(data, size) : data);
}
