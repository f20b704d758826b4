/**
 * The compute worker: all ONNX Runtime work of the engine, and every write to the workspace. It only composes; what it
 * does is in methods.ts. A workspace that cannot be opened is the answer to `ready`, not the end of the thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import * as headscope from '../../index.ts'
import { versions } from '../../run/versions.ts'
import { openStore } from '../../store/capture-store.ts'
import { specSummary } from '../spec-summary.ts'
import { createBenchMethods } from './bench-methods.ts'
import { createEditMethods } from './edit-methods.ts'
import type { Engine } from './engine.ts'
import { createExchangeMethods } from './exchange-methods.ts'
import { createHeadMethods } from './head-methods.ts'
import { createInsideMethods } from './inside-methods.ts'
import { intervene } from './intervene.ts'
import { planLongRun } from './long-run.ts'
import { createMethods, openModels } from './methods.ts'
import { createNotebookMethods } from './notebook-methods.ts'
import { type MethodTable, serveMethods } from './rpc.ts'
import { provenanceOf } from './stored-run.ts'
import { createValueMethods } from './value-methods.ts'
import { createVerifyMethods } from './verify-methods.ts'
import type { WorkerData } from './worker-data.ts'
import { workspaceWrites } from './workspace-writes.ts'

const engine: Engine<headscope.Model> = {
  openModel: headscope.openModel,
  openCost: headscope.openCost,
  cache: {
    use: (path = headscope.defaultCacheDir()) => ({ path, bytes: headscope.cacheSize(path) }),
    clear: (path) => headscope.clearCache(path),
  },
  scanHeads: headscope.scanHeads,
  intervene,
  decoderIds: (model, given) => {
    if (!given && !model.spec.encoderDecoder) return null
    return given?.ids && model.spec.encoderDecoder
      ? [...given.ids]
      : headscope.decoderPrompt(model, given?.text ?? '')
  },
  repeatPairs: headscope.repeatPairs,
  summary: (model) => specSummary(model.spec),
  provenance: provenanceOf,
  requireRoom: async (model, tokens) => {
    await planLongRun(model, [tokens], 'full', (workerData as WorkerData).storePath)
  },
}

function methods({ storePath, ...options }: WorkerData): MethodTable {
  try {
    const store = openStore(storePath)
    const workspace = workspaceWrites(store)
    const models = openModels(engine, options)
    const version = versions.headscope
    return {
      ...createMethods(engine, workspace, options, models),
      ...createHeadMethods({ analyses: headscope, models, version, engine, workspace }),
      ...createInsideMethods({ analyses: headscope, models, workspace }),
      ...createBenchMethods({ first: headscope.firstPrinciples, models }),
      ...createValueMethods({ analyses: headscope, models, workspace }),
      ...createEditMethods({ engine, models, workspace }),
      ...createVerifyMethods({ verify: headscope.verify, models }),
      ...createNotebookMethods({ engine, models, store }),
      ...createExchangeMethods({ analyses: headscope, models, engine, store }),
    }
  } catch (error) {
    const fail = () => {
      throw error
    }
    return { ready: fail, close: () => undefined }
  }
}

serveMethods(parentPort!, methods(workerData as WorkerData))
