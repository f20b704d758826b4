/**
 * Files of a checkpoint folder, opened without trust: links are resolved, pipes and devices are never opened. Folders
 * that we write to are made here too.
 * In: paths. Out: facts, bytes and texts, or one sentence that names the file.
 */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { type ErrorCode, HeadscopeError } from '../errors.ts'
import { JsonError, parseJson } from './json.ts'

/** Largest JSON file that is read into memory: tokenizers reach some 30 MB. */
const MAX_TEXT_BYTES = 256 * 1024 * 1024

/** The code of a system error ('ENOENT' …), or ''. */
export function systemCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

const REASONS = new Map([
  ['ENOENT', 'does not exist or is a link to a file that does not exist'],
  ['ENOTDIR', 'does not exist: a part of its path is a file'],
  ['ELOOP', 'is a link that leads back to itself'],
  ['EACCES', 'cannot be read: its permissions forbid it'],
  ['EPERM', 'cannot be read: its permissions forbid it'],
  ['ENAMETOOLONG', 'has a name that is too long for this system'],
])

/** A system error about a file, as one sentence that names the file. */
export function fileError(label: string, error: unknown): HeadscopeError {
  if (error instanceof HeadscopeError) return error
  const code = systemCode(error)
  const why = REASONS.get(code) ?? `cannot be read (${code || String(error)})`
  const kind = code === 'ENOENT' || code === 'ENOTDIR' ? 'not-found' : 'bad-checkpoint'
  return new HeadscopeError(kind, `${label} ${why}; check the folder or download it again.`, { cause: error })
}

/**
 * Makes a folder and those above it that are missing, one level at a time: Node's own `recursive` never returns for a
 * path that no folder can have, such as one below /proc.
 * @throws HeadscopeError `code` (or 'no-space') naming the folder and the level that cannot be made
 */
export function makeFolder(path: string, code: ErrorCode = 'bad-request'): void {
  const missing: string[] = []
  let folder = resolve(path)
  try {
    for (;;) {
      const facts = statSync(folder, { throwIfNoEntry: false })
      if (facts?.isDirectory()) break
      if (facts) throw Object.assign(new Error(`${folder} is a file`), { code: 'ENOTDIR' })
      missing.push(folder)
      if (dirname(folder) === folder) break
      folder = dirname(folder)
    }
    while (missing.length > 0) {
      folder = missing.pop()!
      makeLevel(folder)
    }
  } catch (error) {
    const full = ['ENOSPC', 'EDQUOT'].includes(systemCode(error))
    const why = full ? 'the disk is full' : (MAKING.get(systemCode(error)) ?? systemCode(error))
    throw new HeadscopeError(
      full ? 'no-space' : code,
      `The folder ${resolve(path)} cannot be made (${folder}: ${why}); choose a place that you may write to.`,
      { cause: error },
    )
  }
}

const MAKING = new Map([
  ['EACCES', 'you may not write there'],
  ['EPERM', 'you may not write there'],
  ['EROFS', 'this disk can only be read'],
  ['ENOENT', 'no folder can be made there'],
  ['ENOTDIR', 'a part of the path is a file'],
  ['ENAMETOOLONG', 'the name is too long for this system'],
])

function makeLevel(folder: string): void {
  try {
    mkdirSync(folder)
  } catch (error) {
    // Another process may have made it at the same moment.
    if (systemCode(error) !== 'EEXIST' || !statSync(folder).isDirectory()) throw error
  }
}

/** A readable regular file: `fd` must be closed by the caller. */
export interface OpenFile {
  readonly fd: number
  readonly real: string
  readonly size: number
}

/**
 * Opens a regular file for reading; the name in messages is its last part.
 * @throws HeadscopeError when it is missing, a folder, a pipe, or unreadable
 */
export function openFile(path: string, label = basename(path)): OpenFile {
  let fd: number | null = null
  try {
    refuseSpecial(statSync(path), label)
    // Non-blocking: a file that is replaced by a pipe after the check cannot hang us either.
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const facts = fstatSync(fd)
    refuseSpecial(facts, label)
    return { fd, real: realpathSync(path), size: facts.size }
  } catch (error) {
    if (fd !== null) closeSync(fd)
    throw fileError(label, error)
  }
}

function refuseSpecial(
  facts: { isFile(): boolean; isDirectory(): boolean; isFIFO(): boolean },
  label: string,
): void {
  if (facts.isFile()) return
  const what = facts.isDirectory() ? 'a folder' : facts.isFIFO() ? 'a named pipe' : 'a device'
  throw new HeadscopeError(
    'bad-checkpoint',
    `${label} is ${what}, but must be a file; put the real file in its place.`,
  )
}

/** Reads exactly `bytes` bytes at `offset` into `target` (default: a new buffer). */
export function readExactly(
  fd: number,
  offset: number,
  bytes: number,
  label: string,
  target: Uint8Array = new Uint8Array(bytes),
): Uint8Array {
  let done = 0
  while (done < bytes) {
    const got = readSync(fd, target, done, Math.min(bytes - done, 1 << 30), offset + done)
    if (got === 0) {
      throw new HeadscopeError(
        'bad-checkpoint',
        `${label} became shorter while it was read; open it again when nothing writes it.`,
      )
    }
    done += got
  }
  return target
}

/** A whole text file in UTF-8; a byte order mark is dropped. UTF-16 and other encodings are refused by name. */
export function readText(path: string, label = basename(path)): string {
  const file = openFile(path, label)
  try {
    if (file.size > MAX_TEXT_BYTES) {
      throw new HeadscopeError(
        'bad-checkpoint',
        `${label} has ${file.size} bytes, but at most ${MAX_TEXT_BYTES} are read; it is not a text file of a checkpoint.`,
      )
    }
    const bytes = readExactly(file.fd, 0, file.size, label)
    if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
      throw new HeadscopeError(
        'bad-checkpoint',
        `${label} is written in UTF-16, but must be UTF-8; save it again as UTF-8.`,
      )
    }
    return decodeUtf8(bytes, label)
  } finally {
    closeSync(file.fd)
  }
}

function decodeUtf8(bytes: Uint8Array, label: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new HeadscopeError('bad-checkpoint', `${label} is not UTF-8 text; save it again as UTF-8.`, {
      cause: error,
    })
  }
}

/** What lies in the place of a file by mistake, told by its first characters, and what to do then. */
export function whatElse(text: string): { what: string; remedy: string } | null {
  const convert = 'convert the weights to safetensors'
  if (text.startsWith('version https://git-lfs')) {
    return { what: 'a Git LFS pointer', remedy: 'run "git lfs pull" in the folder to get the weights' }
  }
  if (text.startsWith('PK\x03\x04')) return { what: 'a zip archive, as PyTorch writes', remedy: convert }
  if (/^\s*<(!doctype|html|\?xml)/i.test(text)) {
    return { what: 'a web page, saved by a download that failed', remedy: 'download the file again' }
  }
  if (text.startsWith('GGUF')) return { what: 'a GGUF file', remedy: convert }
  if (text.startsWith('\x89HDF')) return { what: 'an HDF5 file', remedy: convert }
  return null
}

/** A JSON file, strictly (see json.ts). */
export function readJsonFile(folder: string, name: string): unknown {
  const text = readText(join(folder, name), name)
  if (text.trim() === '') {
    throw new HeadscopeError('bad-checkpoint', `${name} is empty; download it again.`)
  }
  const other = whatElse(text)
  if (other)
    throw new HeadscopeError('bad-checkpoint', `${name} is ${other.what}, not JSON; ${other.remedy}.`)
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new HeadscopeError(
      'bad-checkpoint',
      `${name} is not valid JSON: ${error.message}; correct it or download it again.`,
      { cause: error },
    )
  }
}
