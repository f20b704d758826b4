/**
 * The folder where working copies and hashes are kept. Everything in it can be made again.
 * Place: $HEADSCOPE_CACHE, else the platform's cache folder.
 */
import { readdirSync, rmSync, statSync } from 'node:fs'
import { homedir, platform } from 'node:os'
import { join } from 'node:path'
import { makeFolder } from './files.ts'
import { writeError } from './safetensors-write.ts'

const PARTS = { weights: 'weights', hashes: 'hashes' } as const

/** Where the cache is unless a caller says otherwise. */
export function defaultCacheDir(env: NodeJS.ProcessEnv = process.env, system: string = platform()): string {
  if (env.HEADSCOPE_CACHE) return env.HEADSCOPE_CACHE
  if (system === 'darwin') return join(homedir(), 'Library', 'Caches', 'headscope')
  if (system === 'win32')
    return join(env.LOCALAPPDATA ?? join(homedir(), 'AppData', 'Local'), 'headscope', 'cache')
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'headscope')
}

/** A part of the cache, made if it is not there. @throws HeadscopeError when it cannot be made */
export function cachePart(cacheDir: string, part: keyof typeof PARTS): string {
  const folder = join(cacheDir, PARTS[part])
  makeFolder(folder)
  return folder
}

/** Bytes that the cache holds. */
export function cacheSize(cacheDir: string = defaultCacheDir()): number {
  let total = 0
  for (const part of Object.values(PARTS)) {
    for (const file of filesIn(join(cacheDir, part))) {
      total += statSync(file, { throwIfNoEntry: false })?.size ?? 0
    }
  }
  return total
}

/**
 * Removes working copies and hashes, and nothing else. Must not run while a model from the cache is open: its
 * mapped file would go on to take space until it is closed (and on Windows cannot be removed).
 */
export function clearCache(cacheDir: string = defaultCacheDir()): void {
  for (const part of Object.values(PARTS)) {
    const folder = join(cacheDir, part)
    try {
      rmSync(folder, { recursive: true, force: true })
    } catch (error) {
      throw writeError(folder, error)
    }
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}
