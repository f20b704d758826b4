/**
 * One pass over the weights: their hash, and whether any number is not finite.
 * In: bound tensors. Out: sha-256 over canonical name, dtype, shape and bytes, sorted by name; the same weights under
 * another prefix or in other shards have the same hash. Cost: one read of the tensors, in a worker thread where they are
 * large; then cached by real path, device, inode, size and time of change of the files.
 */
import { createHash } from 'node:crypto'
import { closeSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { HeadscopeError } from '../errors.ts'
import { cachePart, defaultCacheDir } from './cache.ts'
import { blockOf, decodeFloats, FLOAT_DTYPES } from './dtypes.ts'
import { fileError, openFile, readExactly } from './files.ts'
import { writeAtomically } from './safetensors-write.ts'
import type { BoundTensors, ContentHash, TensorEntry } from './types.ts'

const CHUNK_BYTES = 4 << 20
/** Up to so many bytes of weights are read on the calling thread: in some 11 ms, less than a worker takes to start. */
const WORKER_FROM_BYTES = 8 << 20

export type HashItem = readonly [canonical: string, entry: TensorEntry]

/**
 * Hash and non-finite scan, from the cache when the files have not changed.
 * @throws HeadscopeError 'cancelled' by the signal, 'bad-checkpoint' when a file became shorter
 */
export async function contentHash(
  bound: BoundTensors,
  options: { cacheDir?: string; signal?: AbortSignal } = {},
): Promise<ContentHash> {
  const { cacheDir = defaultCacheDir(), signal } = options
  const items = sorted(bound)
  const file = cacheFile(cacheDir, items)
  const known = readCached(file)
  if (known) return known
  if (signal?.aborted) throw cancelled()
  const bytes = items.reduce((sum, [, entry]) => sum + entry.bytes, 0)
  const result = bytes < WORKER_FROM_BYTES ? hashTensors(items) : await hashInWorker(items, signal)
  writeCached(cacheDir, file, result)
  return result
}

/** The hash of a pass that was made before; null when none was, or when the files have changed. Reads no tensor. */
export function knownHash(bound: BoundTensors, cacheDir: string = defaultCacheDir()): string | null {
  return readCached(cacheFile(cacheDir, sorted(bound)))?.hash ?? null
}

/** The same pass on the calling thread. */
export function hashTensors(items: readonly HashItem[]): ContentHash {
  const hash = createHash('sha256')
  const nonFinite: { tensor: string; kind: 'NaN' | 'Inf' | '-Inf'; count: number }[] = []
  const buffer = new Uint8Array(CHUNK_BYTES)
  for (const [name, entry] of items) {
    const { dtype, shape, stored } = entry
    hash.update(`${JSON.stringify(stored ? [name, dtype, shape, stored] : [name, dtype, shape])}\n`)
    const counts = { nan: 0, inf: 0, minusInf: 0 }
    const label = basename(entry.file)
    const file = openFile(entry.file, label)
    try {
      const step = Math.floor(CHUNK_BYTES / blockOf(dtype).bytes) * blockOf(dtype).bytes // whole blocks
      for (let at = 0; at < entry.bytes; at += step) {
        const n = Math.min(step, entry.bytes - at)
        readExactly(file.fd, entry.offset + at, n, label, buffer)
        hash.update(buffer.subarray(0, n))
        countNonFinite(dtype, buffer, n, counts)
      }
    } finally {
      closeSync(file.fd)
    }
    if (counts.nan > 0) nonFinite.push({ tensor: name, kind: 'NaN', count: counts.nan })
    if (counts.inf > 0) nonFinite.push({ tensor: name, kind: 'Inf', count: counts.inf })
    if (counts.minusInf > 0) nonFinite.push({ tensor: name, kind: '-Inf', count: counts.minusInf })
  }
  return { hash: hash.digest('hex'), nonFinite }
}

/** Bit tests where the bits tell; other formats are decoded. In bits, an all-ones exponent is Inf when the fraction is 0, else NaN. */
function countNonFinite(
  dtype: string,
  buffer: Uint8Array,
  bytes: number,
  counts: { nan: number; inf: number; minusInf: number },
): void {
  if (dtype === 'F32') {
    const words = new Uint32Array(buffer.buffer, 0, bytes / 4)
    for (let i = 0; i < words.length; i++) {
      const word = words[i]!
      if ((word & 0x7f800000) === 0x7f800000) tally(counts, (word & 0x7fffff) !== 0, word > 0x7fffffff)
    }
  } else if (dtype === 'F16' || dtype === 'BF16') {
    const exponent = dtype === 'F16' ? 0x7c00 : 0x7f80
    const fraction = 0x7fff & ~exponent
    const words = new Uint16Array(buffer.buffer, 0, bytes / 2)
    for (let i = 0; i < words.length; i++) {
      const word = words[i]!
      if ((word & exponent) === exponent) tally(counts, (word & fraction) !== 0, word > 0x7fff)
    }
  } else if (dtype === 'F64') {
    countValues(new Float64Array(buffer.buffer, 0, bytes / 8), counts)
  } else if (FLOAT_DTYPES.has(dtype)) {
    const block = blockOf(dtype)
    const values = new Float32Array((bytes / block.bytes) * block.values)
    decodeFloats(dtype, buffer.subarray(0, bytes), values)
    countValues(values, counts)
  }
}

function countValues(
  values: Float32Array | Float64Array,
  counts: { nan: number; inf: number; minusInf: number },
): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    if (!Number.isFinite(value)) tally(counts, Number.isNaN(value), value < 0)
  }
}

function tally(
  counts: { nan: number; inf: number; minusInf: number },
  nan: boolean,
  negative: boolean,
): void {
  if (nan) counts.nan++
  else if (negative) counts.minusInf++
  else counts.inf++
}

function sorted(bound: BoundTensors): HashItem[] {
  return [...bound.tensors].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

function cancelled(): HeadscopeError {
  return new HeadscopeError('cancelled', 'Reading the weights was cancelled.')
}

function hashInWorker(items: readonly HashItem[], signal: AbortSignal | undefined): Promise<ContentHash> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./hash-worker.ts', import.meta.url), { workerData: items })
    const stop = () => {
      reject(cancelled())
      void worker.terminate() // safe here: this worker runs no native session
    }
    signal?.addEventListener('abort', stop, { once: true })
    worker.once('message', (reply: { result: ContentHash } | { code: 'bad-checkpoint'; message: string }) => {
      if ('result' in reply) resolve(reply.result)
      else reject(new HeadscopeError(reply.code, reply.message))
    })
    worker.once('error', reject)
    worker.once('exit', (code) => {
      signal?.removeEventListener('abort', stop)
      reject(new HeadscopeError('internal', `The thread that reads the weights ended with code ${code}.`))
    })
  })
}

/** One small file per (files as they are now, tensors asked for). */
function cacheFile(cacheDir: string, items: readonly HashItem[]): string {
  const facts = [...new Set(items.map(([, entry]) => entry.file))].sort().map((file) => {
    try {
      const { dev, ino, size, mtimeNs } = statSync(file, { bigint: true })
      return [file, ...[dev, ino, size, mtimeNs].map(String)]
    } catch (error) {
      throw fileError(basename(file), error)
    }
  })
  const asked = items.map(([name, { dtype, shape, file, offset, stored }]) => [
    name,
    dtype,
    shape,
    file,
    offset,
    ...(stored ? [stored] : []),
  ])
  const key = createHash('sha256')
    .update(JSON.stringify([1, facts, asked]))
    .digest('hex')
  return join(cacheDir, 'hashes', `${key}.json`)
}

function readCached(file: string): ContentHash | null {
  try {
    const value = JSON.parse(readFileSync(file, 'utf8'))
    return /^[0-9a-f]{64}$/.test(value.hash) && Array.isArray(value.nonFinite) ? value : null
  } catch {
    return null // absent or damaged: computed again
  }
}

/** A cache that cannot be written only costs time. */
function writeCached(cacheDir: string, file: string, result: ContentHash): void {
  try {
    cachePart(cacheDir, 'hashes')
    writeAtomically(file, (write) => write(Buffer.from(JSON.stringify(result))))
  } catch (error) {
    if (!(error instanceof HeadscopeError)) throw error
  }
}
