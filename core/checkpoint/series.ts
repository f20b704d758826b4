/**
 * Series of checkpoints: the steps of a training run.
 * In: a folder. Out: its member checkpoints in natural order (step512 before step1024). Only names are looked at.
 */
import { readdirSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { hasWeights } from './folder.ts'

export interface SeriesMember {
  readonly at: string // name of the step, e.g. 'step512'
  readonly path: string
}

const naturalOrder = new Intl.Collator('en', { numeric: true, sensitivity: 'variant' })

/**
 * Members of a series. A folder without weights: its children that are checkpoints. A checkpoint folder: the steps
 * in its `checkpoints` folder, else children such as `checkpoint-500`. Empty when there is no series.
 */
export function listMembers(path: string): SeriesMember[] {
  const folder = resolve(path)
  if (!isCheckpointFolder(folder)) return checkpointChildren(folder)
  const steps = checkpointChildren(join(folder, 'checkpoints'))
  if (steps.length > 0) return steps
  return checkpointChildren(folder).filter((member) => /^(step|checkpoint|epoch)[-_]?\d+/.test(member.at))
}

/** True when the folder has a config.json and weights, by their names; a GGUF file is a checkpoint by itself. */
export function isCheckpointFolder(folder: string): boolean {
  if (/\.gguf$/i.test(folder) && statSync(folder, { throwIfNoEntry: false })?.isFile()) return true
  const names = namesIn(folder)
  return names.includes('config.json') && hasWeights(names)
}

function checkpointChildren(folder: string): SeriesMember[] {
  return namesIn(folder)
    .filter((name) => !name.startsWith('.'))
    .map((name) => join(folder, name))
    .filter((child) => isFolder(child) && isCheckpointFolder(child))
    .map((child) => ({ at: basename(child), path: child }))
    .sort((a, b) => naturalOrder.compare(a.at, b.at))
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false // a link that leads nowhere
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // not a folder, or unreadable: opening it gives the reason
  }
}
