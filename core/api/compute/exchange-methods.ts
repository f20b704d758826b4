/** What the compute worker does with files of others: captures come in as runs, stored things go out as files. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as headscope from '../../index.ts'
import type { Store } from '../../store/capture-store.ts'
import type { ExportRequest, ImportReply, ImportRequest } from '../contract.ts'
import type { Engine } from './engine.ts'
import type { ModelCache } from './model-cache.ts'

export interface ExchangeDeps {
  readonly analyses: Pick<typeof headscope, 'importCapture' | 'exportStored'>
  readonly models: ModelCache<headscope.Model>
  readonly engine: Pick<Engine<headscope.Model>, 'summary'>
  readonly store: Store
}

/** Makes the table. */
export function createExchangeMethods({ analyses, models, engine, store }: ExchangeDeps) {
  return {
    importFile: ({ model, file }: ImportRequest): Promise<ImportReply> =>
      models.use(model, (opened) => analyses.importCapture(store, opened, file, engine.summary(opened))),

    /** Writes a file into a folder of its own; whoever asked removes the folder. */
    exportFile: ({ what, format }: ExportRequest): { folder: string; file: string } => {
      const folder = mkdtempSync(join(tmpdir(), 'headscope-export-'))
      const file = join(folder, `${what.replace(/[^\w.-]/g, '-')}.${format}`)
      analyses.exportStored(store, what, file)
      return { folder, file }
    },
  }
}
