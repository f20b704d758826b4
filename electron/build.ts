/**
 * `npm run build`: the renderer (renderer/dist), the shell's main process (electron/dist/main.js, ESM) and its preload
 * (electron/dist/preload.cjs: a sandboxed preload must be CommonJS). What is newer than its sources is left alone;
 * `--force` builds all. In: sources. Out: those folders. About 2 s for everything, 20 ms when nothing changed.
 */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { projectPaths } from './paths.ts'

export type BuildPart = 'renderer' | 'main' | 'preload'

const paths = projectPaths()

/** Sources and the file that is written last, of each part. */
const PARTS: Record<BuildPart, { sources: string[]; output: string; make: () => Promise<unknown> }> = {
  renderer: {
    sources: ['renderer', 'core', 'package-lock.json'],
    output: join(paths.renderer, 'index.html'),
    make: buildRenderer,
  },
  main: {
    sources: ['electron', 'core', 'package-lock.json'],
    output: join(paths.shell, 'main.js'),
    make: () => buildShell('main.ts', 'main.js', 'es'),
  },
  preload: {
    sources: ['electron', 'core/api/desktop.ts', 'package-lock.json'],
    output: join(paths.shell, 'preload.cjs'),
    make: () => buildShell('preload.ts', 'preload.cjs', 'cjs'),
  },
}

/** Builds the parts that are older than their sources, and says which were. */
export async function build(
  wanted: readonly BuildPart[] = ['renderer', 'main', 'preload'],
  { force = false }: { force?: boolean } = {},
): Promise<BuildPart[]> {
  const stale = wanted.filter((name) => force || !isFresh(PARTS[name]))
  for (const name of stale) await PARTS[name].make()
  return stale
}

async function buildRenderer(): Promise<void> {
  const vite = await import('vite')
  const root = join(paths.root, 'renderer')
  await vite.build({ configFile: join(root, 'vite.config.ts'), root, logLevel: 'warn' })
}

async function buildShell(entry: string, file: string, format: 'es' | 'cjs'): Promise<void> {
  const vite = await import('vite')
  await vite.build({
    configFile: false,
    root: join(paths.root, 'electron'),
    logLevel: 'warn',
    build: {
      outDir: paths.shell,
      emptyOutDir: false, // main and preload share the folder
      target: 'node22',
      minify: false, // read by people, and small
      lib: { entry: join(paths.root, 'electron', entry), formats: [format], fileName: () => file },
      rolldownOptions: { external: ['electron', /^node:/, ...builtinModules] },
    },
  })
}

function isFresh({ sources, output }: { sources: string[]; output: string }): boolean {
  if (!existsSync(output)) return false
  const built = statSync(output).mtimeMs
  return sources.every((source) => newest(join(paths.root, source)) <= built)
}

/** Time of the last change below a path, in ms. Builds and tests are no sources. */
function newest(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (!found) return 0
  if (!found.isDirectory()) return found.mtimeMs
  return readdirSync(path)
    .filter((name) => name !== 'dist' && name !== 'node_modules' && !/\.test\.tsx?$/.test(name))
    .reduce((time, name) => Math.max(time, newest(join(path, name))), 0)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await build(undefined, { force: process.argv.includes('--force') })
  console.log(built.length > 0 ? `Built: ${built.join(', ')}.` : 'Everything is up to date.')
}
