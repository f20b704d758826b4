/**
 * The float32 bytes of every tensor, as files that ONNX Runtime can map.
 * In: bound tensors. Out: one folder and places in its files. F32 weights are used where they lie; other formats are
 * written once as F32 into the cache, keyed by content.
 * Cost of a copy: one pass at the speed of the disk, 16 MB of memory; none when it is there already.
 */
import { closeSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { HeadscopeError } from '../errors.ts'
import { cachePart, defaultCacheDir } from './cache.ts'
import { knownHash } from './content-hash.ts'
import { fileError, type OpenFile, openFile, readExactly } from './files.ts'
import { floatChunks } from './float-chunks.ts'
import { encodeHeader, type TemporaryFile, temporaryFile, writeError } from './safetensors-write.ts'
import type { BoundTensors, Progress, TensorEntry, WeightFiles, WeightSlice } from './types.ts'

export interface WeightFilesOptions {
  readonly cacheDir?: string
  /** Content hash of the tensors; a function is called only when a copy is needed. */
  readonly hash: string | (() => Promise<string>)
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

/**
 * Places of the float32 weights.
 * @throws HeadscopeError 'no-space' on a full disk, 'cancelled' by the signal
 */
export async function weightFiles(bound: BoundTensors, options: WeightFilesOptions): Promise<WeightFiles> {
  const inPlace = whereTheyLie(bound)
  if (inPlace) return inPlace
  const hash = typeof options.hash === 'string' ? options.hash : await options.hash()
  const folder = inCache(() => cachePart(options.cacheDir ?? defaultCacheDir(), 'weights'))
  const name = copyName(hash)
  const file = join(folder, name)
  const { entries, head, offsets, size } = layoutOf(bound)
  if (!isWhole(file, head, size)) {
    try {
      await writeCopy(file, head, entries, options)
    } catch (error) {
      // Another process may have been first, and its copy is as good (some systems do not replace an open file).
      if (!isWhole(file, head, size)) throw elsewhere(error)
    }
  }
  const tensors = new Map<string, WeightSlice>()
  entries.forEach(([canonical, entry], i) => {
    tensors.set(canonical, {
      location: name,
      offset: offsets[i]!,
      bytes: 4 * values(entry),
      shape: entry.shape,
    })
  })
  return { folder, tensors }
}

/** Bytes that a working copy of these tensors takes on disk; 0 when the weights are used where they lie. */
export function copySize(bound: BoundTensors): number {
  if (whereTheyLie(bound)) return 0
  return [...bound.tensors.values()].reduce((sum, entry) => sum + 4 * values(entry), 0)
}

/** The bytes of a working copy that is still to be written: 0 when none is needed, or when it is in the cache. */
export function copyToWrite(bound: BoundTensors, cacheDir: string = defaultCacheDir()): number {
  const size = copySize(bound)
  const hash = size === 0 ? null : knownHash(bound, cacheDir)
  if (hash === null) return size
  const copy = layoutOf(bound)
  return isWhole(join(cacheDir, 'weights', copyName(hash)), copy.head, copy.size) ? 0 : size
}

/**
 * Checks that every file still reaches to the end of its tensors. To be called before a file is mapped: reading
 * beyond the end of a mapped file kills the process.
 * @throws HeadscopeError naming the file that became shorter or vanished
 */
export function checkWeightFiles({ folder, tensors }: WeightFiles): void {
  const ends = new Map<string, number>()
  for (const { location, offset, bytes } of tensors.values()) {
    ends.set(location, Math.max(ends.get(location) ?? 0, offset + bytes))
  }
  for (const [location, end] of ends) {
    let size: number
    try {
      size = statSync(join(folder, location)).size
    } catch (error) {
      throw fileError(location, error)
    }
    if (size < end) {
      throw new HeadscopeError(
        'bad-checkpoint',
        `${location} became shorter since it was opened; open the checkpoint again.`,
      )
    }
  }
}

function inCache<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw elsewhere(error)
  }
}

/** A place that cannot be written to, with the way to name another one. */
function elsewhere(error: unknown): unknown {
  if (!(error instanceof HeadscopeError) || error.code === 'cancelled') return error
  const what = error.message.replace(/; (choose|free) [^;]*$/, '').replace(/\.$/, '')
  const full = error.code === 'no-space' ? 'free some space, or ' : ''
  return new HeadscopeError(
    error.code,
    `${what}; the cache keeps these weights as float32: ${full}set HEADSCOPE_CACHE to a folder that you may write to.`,
    { cause: error },
  )
}

function copyName(hash: string): string {
  return `${hash}.f32.safetensors`
}

/** The tensors in the order of the copy, and its header. */
function layoutOf(bound: BoundTensors) {
  const entries = [...bound.tensors].sort(([a], [b]) => (a < b ? -1 : 1))
  const header = encodeHeader(
    entries.map(([canonical, entry]) => ({ name: canonical, shape: entry.shape, data: () => [] })),
  )
  return { entries, ...header }
}

/** F32 in one folder, each at an aligned place: nothing to copy. */
function whereTheyLie(bound: BoundTensors): WeightFiles | null {
  const entries = [...bound.tensors.values()]
  const folder = entries[0] ? dirname(entries[0].file) : null
  if (folder === null) return null
  if (!entries.every((e) => isPlainF32(e) && e.offset % 4 === 0 && dirname(e.file) === folder)) return null
  const tensors = new Map<string, WeightSlice>()
  for (const [name, { file, offset, bytes, shape }] of bound.tensors) {
    tensors.set(name, { location: basename(file), offset, bytes, shape })
  }
  return { folder, tensors }
}

/** A copy counts when its size and its header are the ones that we would write. */
function isWhole(file: string, head: Uint8Array, size: number): boolean {
  let open: OpenFile
  try {
    open = openFile(file)
  } catch {
    return false
  }
  try {
    return (
      open.size === size && Buffer.from(head).equals(readExactly(open.fd, 0, head.length, basename(file)))
    )
  } finally {
    closeSync(open.fd)
  }
}

async function writeCopy(
  file: string,
  head: Uint8Array,
  entries: readonly (readonly [string, TensorEntry])[],
  options: WeightFilesOptions,
): Promise<void> {
  const { signal, onProgress } = options
  const total = entries.reduce((sum, [, entry]) => sum + 4 * values(entry), 0)
  const started = performance.now()
  let done = 0
  const step = (bytes: number) => {
    if (signal?.aborted) throw new HeadscopeError('cancelled', 'Preparing the weights was cancelled.')
    done += bytes
    const seconds = (performance.now() - started) / 1000
    onProgress?.({ done, total, secondsLeft: done > 0 ? (seconds * (total - done)) / done : null })
  }
  let out: TemporaryFile | null = null
  try {
    out = temporaryFile(file)
    out.write(head)
    for (const [, entry] of entries) {
      for (const chunk of decodedChunks(entry, step)) {
        out.write(chunk)
        await setImmediate() // lets a cancel and other work in
      }
    }
    out.commit()
  } catch (error) {
    out?.discard()
    throw writeError(file, error)
  }
}

function* decodedChunks(entry: TensorEntry, step: (bytes: number) => void): Iterable<Uint8Array> {
  for (const chunk of floatChunks(entry)) {
    step(chunk.byteLength)
    yield new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  }
}

function isPlainF32({ dtype, stored }: TensorEntry): boolean {
  return dtype === 'F32' && stored === undefined
}

function values(entry: TensorEntry): number {
  return entry.shape.reduce((a, b) => a * b, 1)
}
