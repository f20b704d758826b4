/** The real parts that serve.ts puts together: the worker's file, the engine's facts, the store. */
import { familyNames } from '../families/index.ts'
import { versions } from '../run/versions.ts'
import type { ServeParts } from './serve.ts'
import { openWorkspace } from './workspace-store.ts'

export const parts: ServeParts = {
  worker: new URL('./compute/worker.ts', import.meta.url),
  facts: { headscope: versions.headscope, onnxruntime: versions.onnxruntime, families: familyNames },
  openWorkspace,
}
