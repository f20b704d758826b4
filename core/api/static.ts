/**
 * Files of the built renderer. In: the folder and a URL path. Out: bytes, type and cache rule, or why not. A path that
 * names no file and has no extension is a screen of the app, so it gets index.html. Costs one read of one file.
 */
import { readFile, realpath } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.txt': 'text/plain; charset=utf-8',
}

export type StaticAnswer =
  | {
      readonly status: 200
      readonly body: Uint8Array<ArrayBuffer>
      readonly type: string
      readonly cache: string
    }
  | { readonly status: 403 | 404 | 503; readonly message: string }

/**
 * The file of `root` that answers `pathname` (as in a URL, still percent-encoded). Never a file outside of `root`:
 * dot segments, backslashes, NUL bytes and links that leave it are refused with 403.
 */
export async function staticFile(root: string, pathname: string): Promise<StaticAnswer> {
  const path = decode(pathname)
  if (path === null || unsafe(path)) return { status: 403, message: 'This path leaves the app’s folder.' }
  const name = path === '/' ? '/index.html' : path
  const found = await read(root, name)
  if (found === 'outside') return { status: 403, message: 'This path leaves the app’s folder.' }
  if (found) return answer(found, name)
  if (extname(name) !== '') {
    return name === '/index.html' ? notBuilt(root) : { status: 404, message: `The app has no file ${name}.` }
  }
  const page = await read(root, '/index.html')
  return page && page !== 'outside' ? answer(page, '/index.html') : notBuilt(root)
}

function answer(body: Uint8Array<ArrayBuffer>, name: string): StaticAnswer {
  const type = TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream'
  // Files below /assets carry a hash of their content in their name.
  const cache = name.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
  return { status: 200, body, type, cache }
}

function notBuilt(root: string): StaticAnswer {
  return { status: 503, message: `The app's pages are not built in ${root}: run npm run build.` }
}

function decode(pathname: string): string | null {
  try {
    return decodeURIComponent(pathname)
  } catch {
    return null
  }
}

function unsafe(path: string): boolean {
  return (
    !path.startsWith('/') ||
    /[\\\0]/.test(path) ||
    path.split('/').some((part) => part === '..' || part === '.')
  )
}

async function read(root: string, name: string): Promise<Uint8Array<ArrayBuffer> | 'outside' | null> {
  try {
    const base = await realpath(root)
    const file = await realpath(join(base, name))
    if (!file.startsWith(base + sep)) return 'outside'
    return new Uint8Array(await readFile(file))
  } catch {
    return null
  }
}
