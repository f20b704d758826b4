/** `--out` of a command that writes safetensors. In: what was given, and the checkpoint. Out: the file to write. */
import { statSync } from 'node:fs'
import { basename, dirname, extname, resolve } from 'node:path'
import { HeadscopeError } from '../errors.ts'
import { UsageError } from './command.ts'

/** Endings that promise another format. */
const OTHERS = [
  '.npz',
  '.npy',
  '.csv',
  '.tsv',
  '.json',
  '.txt',
  '.pt',
  '.pth',
  '.bin',
  '.db',
  '.gguf',
  '.html',
]

/** Refuses a name that promises another format, and a place where no file can be. Throws UsageError or `not-found`. */
export function checkOut(out: string | undefined): void {
  if (out === undefined) return
  const file = resolve(out)
  if (!statSync(dirname(file), { throwIfNoEntry: false })?.isDirectory())
    throw new HeadscopeError(
      'not-found',
      `The folder ${dirname(file)} does not exist; name a file in a folder that does with --out.`,
    )
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw new HeadscopeError('bad-request', `${file} is a folder; name a file with --out.`)
  const ending = extname(out).toLowerCase()
  if (OTHERS.includes(ending))
    throw new UsageError(
      `--out writes safetensors, not ${ending}: end its name in .safetensors (export writes .npz and .csv of a stored run)`,
    )
}

/** Refuses to write over a file of the checkpoint that is read; captures beside it are none. Throws `bad-request`. */
export async function refuseOwnFile(out: string | undefined, model: string): Promise<void> {
  if (out === undefined) return
  const file = resolve(out)
  const own = file === resolve(model) || dirname(file) === resolve(model)
  if (own && statSync(file, { throwIfNoEntry: false })?.isFile() && !(await holdsCaptures(file)))
    throw new HeadscopeError(
      'bad-request',
      `${basename(file)} is a file of the checkpoint in ${dirname(file)}, and would be lost; name another file with --out.`,
    )
}

// --- Internal helpers ---

/** Files of captures say which ids were run. */
async function holdsCaptures(file: string): Promise<boolean> {
  const { readHeader } = await import('../checkpoint/safetensors.ts')
  try {
    return readHeader(file).tensors.has('input_ids')
  } catch {
    return false // another kind of file, which captures would not have made
  }
}
