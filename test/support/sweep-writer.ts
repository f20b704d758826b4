/**
 * A process that ablates positions into a workspace until it is ended: `node sweep-writer.ts PATH MODEL IDS`. Prints
 * how many cells are stored after every batch.
 */
import { runExperiment } from '../../core/api/compute/experiments.ts'
import { workspaceWrites } from '../../core/api/compute/workspace-writes.ts'
import { engineParts } from '../../core/cli/sweep-engine.ts'
import { openModel } from '../../core/index.ts'
import { openStore } from '../../core/store/capture-store.ts'

const [path, folder, ids, resume] = process.argv.slice(2) as [string, string, string, string | undefined]
const model = await openModel(folder, { threads: 1 })
const workspace = workspaceWrites(openStore(path))
let stored = 0
const request = {
  model: folder,
  prompt: { ids: ids.split(',').map(Number) },
  over: 'positions',
  kind: 'zero',
  metric: { kind: 'loss' },
  ...(resume === undefined ? {} : { resume: Number(resume) }),
} as const
const done = await runExperiment(engineParts.engine, model, 'ablate', request, workspace, {
  signal: new AbortController().signal,
  onProgress: () => {},
  onCells(cells) {
    stored += cells.length
    process.stdout.write(`${stored}\n`)
  },
  encode: (prompt) => [...prompt.ids!],
  view: () => [],
  keyOf: engineParts.keyOf,
})
process.stdout.write(`done ${done.id} ${done.result.cells.length}\n`)
workspace.close()
await model.close()
