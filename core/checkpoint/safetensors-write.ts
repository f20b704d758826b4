/**
 * Writes a safetensors file, atomically and without holding it in memory.
 * In: names, shapes and data (arrays, or functions that yield chunks when their turn comes). Out: one file.
 * Cost: one pass of writes; the file appears under its name only when it is whole.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { HeadscopeError } from '../errors.ts'
import { DTYPE_BITS } from './dtypes.ts'
import { systemCode } from './files.ts'
import { shorten } from './json.ts'
import type { TensorValues } from './tensor-data.ts'

export interface TensorToWrite {
  readonly name: string
  readonly shape: readonly number[]
  /** Default: by the kind of array; 'F32' for chunks. Give it for F16 or BF16 bits in a Uint16Array. */
  readonly dtype?: string
  /** Values, or a function that yields the bytes in order. */
  readonly data: TensorValues | (() => Iterable<Uint8Array>)
}

/** The bytes before the data: length and header. Deterministic, so that a reader can check a copy by them. */
export function encodeHeader(
  tensors: readonly TensorToWrite[],
  metadata: ReadonlyMap<string, string> = new Map(),
): { head: Uint8Array; offsets: number[]; size: number } {
  const parts: string[] = []
  if (metadata.size > 0) {
    const pairs = [...metadata].map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
    parts.push(`"__metadata__":{${pairs.join(',')}}`)
  }
  const seen = new Set(['__metadata__'])
  const begins: number[] = []
  let at = 0
  for (const tensor of tensors) {
    if (seen.has(tensor.name)) {
      throw new HeadscopeError(
        'bad-request',
        `The tensor name ${shorten(tensor.name)} is used twice or reserved; give each tensor its own name.`,
      )
    }
    seen.add(tensor.name)
    const bytes = byteLength(tensor)
    const entry = { dtype: dtypeOf(tensor), shape: tensor.shape, data_offsets: [at, at + bytes] }
    parts.push(`${JSON.stringify(tensor.name)}:${JSON.stringify(entry)}`)
    begins.push(at)
    at += bytes
  }
  const json = Buffer.from(`{${parts.join(',')}}`)
  const length = Math.ceil(json.length / 8) * 8 // padded with spaces, so that the data is aligned
  const head = Buffer.alloc(8 + length, 0x20)
  head.writeBigUInt64LE(BigInt(length), 0)
  json.copy(head, 8)
  return { head, offsets: begins.map((begin) => head.length + begin), size: head.length + at }
}

/**
 * Writes a file under a temporary name, flushes it and renames it.
 * @throws HeadscopeError 'no-space' on a full disk, 'bad-request' when the place cannot be written
 */
export function writeSafetensors(
  file: string,
  tensors: readonly TensorToWrite[],
  metadata: ReadonlyMap<string, string> = new Map(),
): void {
  const { head } = encodeHeader(tensors, metadata)
  writeAtomically(file, (write) => {
    write(head)
    for (const tensor of tensors) {
      let bytes = 0
      for (const chunk of chunksOf(tensor.data)) {
        write(chunk)
        bytes += chunk.length
      }
      if (bytes !== byteLength(tensor)) {
        throw new HeadscopeError(
          'internal',
          `The tensor ${shorten(tensor.name)} gave ${bytes} bytes, but its shape [${tensor.shape.join(', ')}] needs ${byteLength(tensor)}.`,
        )
      }
    }
  })
}

/** A file that has no name yet. */
export interface TemporaryFile {
  write(bytes: Uint8Array): void
  /** Flushes it to disk and gives it its name in one step. */
  commit(): void
  /** Removes it; nothing is left behind. Harmless after `commit`. */
  discard(): void
}

/** Begins a file beside its final place. Its errors are those of the system: pass them through `writeError`. */
export function temporaryFile(file: string): TemporaryFile {
  const mark = `${process.pid}.${randomBytes(6).toString('hex')}`
  const temporary = join(dirname(file), `.${basename(file).slice(0, 80)}.${mark}.tmp`)
  let fd: number | null = openSync(temporary, 'wx')
  const close = () => {
    if (fd !== null) closeSync(fd)
    fd = null
  }
  return {
    write(bytes) {
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(fd!, bytes, done, Math.min(bytes.length - done, 1 << 30))
      }
    },
    commit() {
      fsyncSync(fd!)
      close()
      renameSync(temporary, file)
    },
    discard() {
      close()
      rmSync(temporary, { force: true })
    },
  }
}

/** Fills a file through `fill`, then gives it its name. @throws HeadscopeError when the place cannot be written */
export function writeAtomically(file: string, fill: (write: (bytes: Uint8Array) => void) => void): void {
  let out: TemporaryFile | null = null
  try {
    out = temporaryFile(file)
    fill(out.write)
    out.commit()
  } catch (error) {
    out?.discard()
    throw writeError(file, error)
  }
}

/** A failed write as one sentence that names the place. */
export function writeError(place: string, error: unknown): HeadscopeError {
  if (error instanceof HeadscopeError) return error
  const code = systemCode(error)
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG') {
    return new HeadscopeError(
      'no-space',
      `The disk is full: ${place} could not be written; free some space or choose another place.`,
      { cause: error },
    )
  }
  return new HeadscopeError(
    'bad-request',
    `${place} could not be written (${code || String(error)}); choose a place that you may write to.`,
    { cause: error },
  )
}

function* chunksOf(data: TensorToWrite['data']): Iterable<Uint8Array> {
  if (typeof data === 'function') yield* data()
  else yield new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
}

function byteLength(tensor: TensorToWrite): number {
  const bits = DTYPE_BITS.get(dtypeOf(tensor))
  if (bits === undefined)
    throw new HeadscopeError('internal', `dtype: ${dtypeOf(tensor)} is not one of the format.`)
  return (tensor.shape.reduce((a, b) => a * b, 1) * bits) / 8
}

function dtypeOf(tensor: TensorToWrite): string {
  if (tensor.dtype !== undefined) return tensor.dtype
  const { data } = tensor
  if (typeof data === 'function' || data instanceof Float32Array) return 'F32'
  if (data instanceof Float64Array) return 'F64'
  if (data instanceof BigInt64Array) return 'I64'
  if (data instanceof BigUint64Array) return 'U64'
  if (data instanceof Int32Array) return 'I32'
  if (data instanceof Uint32Array) return 'U32'
  if (data instanceof Int16Array) return 'I16'
  if (data instanceof Uint16Array) return 'U16'
  if (data instanceof Int8Array) return 'I8'
  return 'U8'
}
