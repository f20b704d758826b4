/** The packaging config against the project: what is packed is what the app needs, on systems that it runs on. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, extname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { whyNoRuntime } from '../core/cli/host.ts'

const ROOT = join(import.meta.dirname, '..')
const config = JSON.parse(readFileSync(join(ROOT, 'electron', 'packaging.json'), 'utf8'))
const project = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** Every file and package that the engine and the command line import, from their entries on. */
function closure(): { files: Set<string>; packages: Set<string> } {
  const files = new Set<string>()
  const packages = new Set<string>()
  const todo = [
    'electron/engine.ts',
    'core/cli/headscope.mjs',
    'core/api/compute/worker.ts',
    'core/index.ts',
  ].map((file) => join(ROOT, file))
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (files.has(file)) continue
    files.add(file)
    if (!['.ts', '.mjs'].includes(extname(file))) continue
    const text = readFileSync(file, 'utf8').replace(/import type [^;]*? from '[^']+'/g, '')
    for (const [, name] of text.matchAll(
      /(?:from|import\(|import|new URL\(|resolve\(|\)\(\s*)\s*'([^'\n]+)'/g,
    )) {
      if (name!.startsWith('.')) {
        const path = resolve(dirname(file), name!)
        if (existsSync(path) && statSync(path).isFile()) todo.push(path)
      } else if (/^@?[a-z]/.test(name!) && !name!.startsWith('node:') && !builtinModules.includes(name!))
        packages.add(
          name!
            .split('/')
            .slice(0, name!.startsWith('@') ? 2 : 1)
            .join('/'),
        )
    }
  }
  return { files, packages }
}

describe('packaging', () => {
  const { files, packages } = closure()

  it('packs every file that the engine imports, and none of its tests', () => {
    expect(files.size).toBeGreaterThan(200)
    const inside = [...files].map((file) => relative(ROOT, file))
    expect(inside).toContain(join('core', 'store', 'schema.sql'))
    const left = inside.filter((file) => !/^core\//.test(file) && file !== 'electron/engine.ts')
    expect(left).toEqual([])
    expect(inside.filter((file) => /\.(test|fixture)\.ts$|tsconfig\.json$/.test(file))).toEqual([])
    for (const pattern of [
      'core/**/*',
      'electron/engine.ts',
      'electron/dist/**/*',
      'renderer/dist/**/*',
      'models/**/*',
    ])
      expect(config.files).toContain(pattern)
  })

  it('needs no package but those that npm installs for production', () => {
    const known = new Set([...Object.keys(project.dependencies), 'headscope'])
    expect([...packages].filter((name) => !known.has(name))).toEqual([])
    for (const name of ['onnxruntime-node', 'better-sqlite3', 'hono', 'zod']) expect(packages).toContain(name)
    for (const pattern of config.files as string[]) {
      const [, name] = /^!node_modules\/([\w-]+)\//.exec(pattern) ?? []
      if (name)
        expect(
          [...known, ...Object.keys(project.optionalDependencies)].some((one) => one.startsWith(name)),
        ).toBe(true)
    }
  })

  it('keeps files as files: a Node of its own runs the engine, and ONNX Runtime maps the weights', () => {
    expect(config).toMatchObject({ asar: false, npmRebuild: false })
    expect(config.extraMetadata.main).toBe('electron/dist/main.js')
    expect(config.electronVersion).toBe(project.devDependencies.electron)
    expect(existsSync(join(ROOT, config.directories.buildResources, 'icon.png'))).toBe(true)
  })

  it('is for the three systems, opens checkpoint files, and not for Macs with an Intel processor', () => {
    const archs = (system: string) =>
      new Set(config[system].target.flatMap(({ arch }: { arch: string[] }) => arch))
    expect([archs('linux'), archs('mac'), archs('win')]).toEqual([
      new Set(['x64', 'arm64']),
      new Set(['arm64']),
      new Set(['x64']),
    ])
    for (const [system, platform] of [
      ['linux', 'linux'],
      ['mac', 'darwin'],
      ['win', 'win32'],
    ] as const)
      for (const arch of archs(system)) {
        const runtime = join(
          ROOT,
          'node_modules',
          'onnxruntime-node',
          'bin',
          'napi-v6',
          platform,
          arch as string,
        )
        expect(existsSync(runtime), runtime).toBe(true)
        expect(whyNoRuntime({ platform, arch: arch as string })).toBeNull()
      }
    expect(whyNoRuntime({ platform: 'darwin', arch: 'x64' })).toMatch(/Intel processor/)
    expect(config.fileAssociations.map(({ ext }: { ext: string }) => ext)).toEqual(['gguf', 'safetensors'])
  })
})
