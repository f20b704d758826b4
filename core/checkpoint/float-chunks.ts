/**
 * A tensor as float32, part by part in row-major order.
 * In: an entry, also of another format or stored with its axes in another order. Out: chunks of values.
 * Cost: one read of the tensor and at most 16 MB of memory; a matrix that is stored transposed is held whole.
 */
import { closeSync } from 'node:fs'
import { basename } from 'node:path'
import { HeadscopeError } from '../errors.ts'
import { blockOf, decodeFloats } from './dtypes.ts'
import { openFile, readExactly } from './files.ts'
import type { StoredForm, TensorEntry } from './types.ts'

const CHUNK_VALUES = 1 << 21

/** Yields the values in order. A chunk is valid until the next one is asked for. */
export function* floatChunks(entry: TensorEntry): Generator<Float32Array<ArrayBuffer>> {
  const label = basename(entry.file)
  const file = openFile(entry.file, label)
  try {
    if (entry.offset + entry.bytes > file.size) {
      throw new HeadscopeError(
        'bad-checkpoint',
        `${label} became shorter since it was opened; open the checkpoint again.`,
      )
    }
    const read = (from: number, into: Uint8Array) =>
      readExactly(file.fd, entry.offset + from, into.length, label, into)
    const { stored } = entry
    const chunks = stored && !inOrder(stored) ? reordered(entry, stored, read) : straight(entry, read)
    const add = stored?.add ?? 0
    for (const chunk of chunks) {
      if (add !== 0) for (let i = 0; i < chunk.length; i++) chunk[i]! += add
      yield chunk
    }
  } finally {
    closeSync(file.fd)
  }
}

type Read = (from: number, into: Uint8Array) => void
type Chunks = Generator<Float32Array<ArrayBuffer>>

function* straight(entry: TensorEntry, read: Read): Chunks {
  const total = size(entry.shape)
  const block = blockOf(entry.dtype)
  const step = Math.min(total, CHUNK_VALUES) // a multiple of every block size, or the whole tensor
  const bytes = (n: number) => (n / block.values) * block.bytes
  const source = new Uint8Array(bytes(step))
  const target = new Float32Array(step)
  for (let at = 0; at < total; at += step) {
    const n = Math.min(step, total - at)
    const part = source.subarray(0, bytes(n))
    read(bytes(at), part)
    decodeFloats(entry.dtype, part, target.subarray(0, n))
    yield target.subarray(0, n)
  }
}

/** Axes that keep their place at the end move as one run of values. */
function* reordered(entry: TensorEntry, { shape, order, rows }: StoredForm, read: Read): Chunks {
  let kept = rows ? 1 : shape.length
  while (!rows && kept > 0 && order[kept - 1] === kept - 1) kept--
  const run = size(shape.slice(kept))
  const block = blockOf(entry.dtype)
  const sources = rows ? rowPlaces(rows) : runPlaces(shape.slice(0, kept), order.slice(0, kept))
  if (run % block.values !== 0) {
    yield* gathered(entry, run, sources)
    return
  }
  const bytes = (run / block.values) * block.bytes
  const step = Math.max(1, Math.floor(CHUNK_VALUES / run)) // runs of a chunk
  const source = new Uint8Array(Math.min(step, sources.length) * bytes)
  const target = new Float32Array(Math.min(step, sources.length) * run)
  for (let at = 0; at < sources.length; at += step) {
    const n = Math.min(step, sources.length - at)
    for (let i = 0; i < n; i++) read(sources[at + i]! * bytes, source.subarray(i * bytes, (i + 1) * bytes))
    decodeFloats(entry.dtype, source.subarray(0, n * bytes), target.subarray(0, n * run))
    yield target.subarray(0, n * run)
  }

  /** Runs that are shorter than a block, as in a transposed matrix: decoded first, then gathered. */
  function* gathered(whole: TensorEntry, length: number, places: Float64Array): Chunks {
    const values = new Float32Array(size(shape))
    let at = 0
    for (const chunk of straight(whole, read)) {
      values.set(chunk, at)
      at += chunk.length
    }
    const out = new Float32Array(values.length)
    for (let i = 0; i < places.length; i++) {
      const from = places[i]! * length
      for (let k = 0; k < length; k++) out[i * length + k] = values[from + k]!
    }
    yield out
  }
}

/** Which stored run each run of the result is. */
function runPlaces(shape: readonly number[], order: readonly number[]): Float64Array {
  const strides = shape.map((_, axis) => size(shape.slice(axis + 1)))
  const lengths = order.map((axis) => shape[axis]!)
  const steps = order.map((axis) => strides[axis]!)
  const places = new Float64Array(size(shape))
  const index = lengths.map(() => 0)
  let place = 0
  for (let i = 0; i < places.length; i++) {
    places[i] = place
    for (let axis = lengths.length - 1; axis >= 0; axis--) {
      place += steps[axis]!
      index[axis]!++
      if (index[axis]! < lengths[axis]!) break
      place -= steps[axis]! * lengths[axis]!
      index[axis] = 0
    }
  }
  return places
}

function rowPlaces(rows: NonNullable<StoredForm['rows']>): Float64Array {
  return Float64Array.from(
    rows.flatMap(([first, count]) => Array.from({ length: count }, (_, i) => first + i)),
  )
}

function inOrder({ order, rows }: StoredForm): boolean {
  return rows === undefined && order.every((axis, i) => axis === i)
}

function size(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1)
}
