/**
 * Little-endian values from the head of a file, in order.
 * In: an open file. Out: numbers and texts; a value that the file does not hold is one sentence.
 * Cost: a window of 1 MB; nothing is allocated on the word of a length before the file is known to hold it.
 */
import { HeadscopeError } from '../../errors.ts'
import { type OpenFile, readExactly } from '../files.ts'

const WINDOW = 1 << 20
/** Longest text: chat templates and vocabularies' words are far below. */
const MAX_TEXT = 16 << 20

export interface Reader {
  /** Bytes read so far. */
  position(): number
  /** Bytes of the file that follow. */
  left(): number
  u8(what: string): number
  i8(what: string): number
  u16(what: string): number
  i16(what: string): number
  u32(what: string): number
  i32(what: string): number
  f32(what: string): number
  f64(what: string): number
  u64(what: string): bigint
  i64(what: string): bigint
  text(what: string): string
  skip(bytes: number, what: string): void
}

/** @param what in each call says what is being read, for the sentence when the file ends before it */
export function createReader(file: OpenFile, label: string): Reader {
  let start = 0 // place of the window in the file
  let window: DataView = new DataView(new ArrayBuffer(0))
  let at = 0 // place in the file
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

  const bad = (why: string) =>
    new HeadscopeError('bad-checkpoint', `${label}: ${why}; download the file again.`)

  const need = (bytes: number, what: string): number => {
    if (bytes > file.size - at) throw bad(`the file ends inside ${what}; it is cut short`)
    if (at < start || at + bytes > start + window.byteLength) {
      const length = Math.min(Math.max(bytes, WINDOW), file.size - at)
      const read = readExactly(file.fd, at, length, label)
      window = new DataView(read.buffer, read.byteOffset, read.byteLength)
      start = at
    }
    const place = at - start
    at += bytes
    return place
  }

  const scratch = new DataView(new ArrayBuffer(8))
  const number = (bytes: number, what: string): DataView => {
    const place = need(bytes, what)
    for (let i = 0; i < bytes; i++) scratch.setUint8(i, window.getUint8(place + i))
    return scratch
  }

  return {
    position: () => at,
    left: () => file.size - at,
    u8: (what) => number(1, what).getUint8(0),
    i8: (what) => number(1, what).getInt8(0),
    u16: (what) => number(2, what).getUint16(0, true),
    i16: (what) => number(2, what).getInt16(0, true),
    u32: (what) => number(4, what).getUint32(0, true),
    i32: (what) => number(4, what).getInt32(0, true),
    f32: (what) => number(4, what).getFloat32(0, true),
    f64: (what) => number(8, what).getFloat64(0, true),
    u64: (what) => number(8, what).getBigUint64(0, true),
    i64: (what) => number(8, what).getBigInt64(0, true),
    text(what) {
      const length = number(8, what).getBigUint64(0, true)
      if (length > BigInt(file.size - at)) {
        throw bad(`${what} says that it has ${length} bytes, but only ${file.size - at} follow`)
      }
      if (length > BigInt(MAX_TEXT)) {
        throw bad(`${what} says that it has ${length} bytes, but at most ${MAX_TEXT} are read`)
      }
      const from = need(Number(length), what)
      try {
        return utf8.decode(new Uint8Array(window.buffer, window.byteOffset + from, Number(length)))
      } catch {
        throw bad(`${what} is not UTF-8 text`)
      }
    },
    skip(bytes, what) {
      if (bytes > file.size - at) throw bad(`the file ends inside ${what}; it is cut short`)
      at += bytes
    },
  }
}
