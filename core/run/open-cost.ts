/** What opening a checkpoint writes, before it is opened. Cost: headers and small JSON files. */
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { bindTensors, copyToWrite, defaultCacheDir, openCheckpoint } from '../checkpoint/index.ts'
import { readFamily } from '../families/index.ts'

export interface OpenCost {
  /** Bytes of the float32 working copy that would be written; 0 when none is needed, or when it is there. */
  readonly writes: number
  /** Bytes that are free where it goes; null when the system does not say. */
  readonly free: number | null
  /** That folder. */
  readonly cache: string
}

/** Throws what opening throws: `bad-checkpoint` or `unsupported`. */
export function openCost(
  path: string,
  { cacheDir = defaultCacheDir() }: { cacheDir?: string } = {},
): OpenCost {
  const checkpoint = openCheckpoint(path)
  const bound = bindTensors(checkpoint, readFamily(checkpoint.config).plan)
  return { writes: copyToWrite(bound, cacheDir), free: freeBytes(cacheDir), cache: cacheDir }
}

// --- Internal helpers ---

/** Of the disk that holds the nearest folder above that exists. */
function freeBytes(folder: string): number | null {
  for (let at = folder; ; at = dirname(at)) {
    try {
      const { bavail, bsize } = statfsSync(at)
      return bavail * bsize
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(at) === at) return null
    }
  }
}
