/**
 * NumPy's .npz: a stored (not compressed) zip of .npy arrays. In: named tensors. Out: one file, written atomically.
 * Zip's plain form holds less than 4 GiB; larger exports go to safetensors.
 */
import { crc32 } from 'node:zlib'
import { temporaryFile, writeError } from '../checkpoint/safetensors-write.ts'
import { HeadscopeError } from '../errors.ts'

export interface NamedArray {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: Float32Array | BigInt64Array
}

const LIMIT = 0xffffffff

/** Throws `bad-request` beyond 4 GiB, `no-space` on a full disk. */
export function writeNpz(file: string, arrays: Iterable<NamedArray>): void {
  const target = guard(file, () => temporaryFile(file))
  try {
    const entries: Buffer[] = []
    let at = 0
    const write = (bytes: Uint8Array) => {
      guard(file, () => target.write(bytes))
      at += bytes.length
      if (at > LIMIT)
        throw new HeadscopeError(
          'bad-request',
          `${file} would be larger than 4 GiB, which .npz cannot hold; export as .safetensors.`,
        )
    }
    for (const array of arrays) {
      const name = Buffer.from(`${array.name}.npy`)
      const head = npyHeader(array)
      const data = new Uint8Array(array.data.buffer, array.data.byteOffset, array.data.byteLength)
      const size = head.length + data.length
      const sum = crc32(data, crc32(head))
      const offset = at
      write(localHeader(name, sum, size))
      write(name)
      write(head)
      write(data)
      entries.push(Buffer.concat([centralHeader(name, sum, size, offset), name]))
    }
    const start = at
    for (const entry of entries) write(entry)
    write(endRecord(entries.length, at - start, start))
    guard(file, () => target.commit())
  } finally {
    target.discard()
  }
}

// --- Internal helpers ---

function guard<T>(file: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw writeError(file, error)
  }
}

/** Version 1.0: magic, header length, a Python literal padded to 64 bytes. */
function npyHeader({ shape, data }: NamedArray): Buffer {
  const kind = data instanceof Float32Array ? '<f4' : '<i8'
  const dims = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(', ')})`
  const text = `{'descr': '${kind}', 'fortran_order': False, 'shape': ${dims}, }`
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10
  const head = Buffer.alloc(10 + length, 0x20)
  head.write('\x93NUMPY\x01\x00', 0, 'latin1')
  head.writeUInt16LE(length, 8)
  head.write(text, 10, 'latin1')
  head[head.length - 1] = 0x0a
  return head
}

// Fields of the zip format: version 2.0, stored, UTF-8 names, 1 January 1980.
const VERSION = 20
const UTF8 = 0x0800
const DATE = 0x0021

function localHeader(name: Buffer, sum: number, size: number): Buffer {
  const head = Buffer.alloc(30)
  head.writeUInt32LE(0x04034b50, 0)
  head.writeUInt16LE(VERSION, 4)
  head.writeUInt16LE(UTF8, 6)
  head.writeUInt16LE(DATE, 12)
  head.writeUInt32LE(sum, 14)
  head.writeUInt32LE(size, 18)
  head.writeUInt32LE(size, 22)
  head.writeUInt16LE(name.length, 26)
  return head
}

function centralHeader(name: Buffer, sum: number, size: number, offset: number): Buffer {
  const head = Buffer.alloc(46)
  head.writeUInt32LE(0x02014b50, 0)
  head.writeUInt16LE(VERSION, 4)
  head.writeUInt16LE(VERSION, 6)
  head.writeUInt16LE(UTF8, 8)
  head.writeUInt16LE(DATE, 14)
  head.writeUInt32LE(sum, 16)
  head.writeUInt32LE(size, 20)
  head.writeUInt32LE(size, 24)
  head.writeUInt16LE(name.length, 28)
  head.writeUInt32LE(offset, 42)
  return head
}

function endRecord(count: number, size: number, start: number): Buffer {
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(start, 16)
  return end
}
