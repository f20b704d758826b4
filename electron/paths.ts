/** Where things lie in this project, from a source file in electron/ or from its build in electron/dist/. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

export interface ProjectPaths {
  readonly root: string
  /** Entry of the engine's process. */
  readonly engine: string
  /** Bundled checkpoints. */
  readonly models: string
  /** Built pages. */
  readonly renderer: string
  /** Built shell: main.js and preload.cjs. */
  readonly shell: string
}

/** The project that holds `folder`. Throws when there is none above it. */
export function projectPaths(folder: string = import.meta.dirname): ProjectPaths {
  let root = folder
  while (!existsSync(join(root, 'package.json')) || !existsSync(join(root, 'core'))) {
    const parent = dirname(root)
    if (parent === root) throw new Error(`No project folder above ${folder}.`)
    root = parent
  }
  return {
    root,
    engine: join(root, 'electron', 'engine.ts'),
    models: join(root, 'models'),
    renderer: join(root, 'renderer', 'dist'),
    shell: join(root, 'electron', 'dist'),
  }
}
