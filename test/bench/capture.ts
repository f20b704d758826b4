/**
 * What capturing costs: every pattern and residual at T = 256, beside the bare forward of the same checkpoint as one
 * whole session in the better of both prepacking modes. Run: `node test/bench/capture.ts [checkpoint]`; without a
 * checkpoint a random Llama of the 100M class is made in a temporary folder.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { storedCaptures } from '../../core/api/compute/stored-run.ts'
import { specSummary } from '../../core/api/spec-summary.ts'
import { type Model, openModel } from '../../core/index.ts'
import { createRandom } from '../../core/random.ts'
import { openStore } from '../../core/store/capture-store.ts'
import { CLASS_100M, writeRandomLlama } from './random-llama.ts'
import { rounds, type Work } from './rounds.ts'
import { wholeModel } from './whole-model.ts'

/** What the app stores: every pattern, the residual stream at every border of blocks, and at the end. */
const captureOf = (model: Model) => storedCaptures(specSummary(model.spec), model.hooks)
const ROUNDS = Number(process.env.ROUNDS ?? 7)
const folder = mkdtempSync(join(tmpdir(), 'headscope-bench-'))
try {
  const given = process.argv[2]
  if (!given) writeRandomLlama(join(folder, 'llama'), CLASS_100M)
  const report = [await bench(given ?? join(folder, 'llama'))]
  if (!given) report.push(await bench(join(import.meta.dirname, '..', '..', 'models', 'induction-2l')))
  console.log(JSON.stringify(report, null, 2))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function bench(path: string) {
  const threads = availableParallelism()
  const model = await openModel(path, { threads })
  const length = Math.min(256, model.spec.nCtx)
  const random = createRandom(1)
  const ids = Array.from({ length }, () => random.below(model.spec.dVocab))
  const [mapped, packed, fused] = await Promise.all([
    wholeModel(model, threads, false, 'basic'),
    wholeModel(model, threads, true, 'basic'),
    wholeModel(model, threads, true, 'all'),
  ])
  const capture = captureOf(model)
  const file = join(folder, `${model.name}.db`)
  const store = openStore(file)
  const works: Work[] = [
    { name: 'bare, one session, mapped', run: () => mapped.run(ids) },
    { name: 'bare, one session, prepacked', run: () => packed.run(ids) },
    { name: 'bare, one session, prepacked, every fusion on', run: () => fused.run(ids) },
    { name: 'run without capture, logits', run: () => model.run(ids, { capture: ['logits'], top: 0 }) },
    { name: 'run without capture, predictions', run: () => model.run(ids) },
    { name: 'capture in memory, no unembedding', run: () => model.run(ids, { capture, top: 0 }) },
    { name: 'capture in memory, predictions', run: () => model.run(ids, { capture }) },
    {
      name: 'capture in memory, logits',
      run: () => model.run(ids, { capture: [...capture, 'logits'], top: 0 }),
    },
    { name: 'capture and predictions into SQLite', run: () => stored(model, ids, store, capture) },
  ]
  const results = await rounds(works, ['bare, one session, mapped', 'bare, one session, prepacked'], ROUNDS)
  store.close()
  await Promise.all([mapped.close(), packed.close(), fused.close(), model.close()])
  const heads = model.spec.stacks[0]!.layers.reduce((sum, layer) => sum + layer.nHeads, 0)
  const entries = (heads * length * (length + 1)) / 2
  return {
    model: model.name,
    length,
    threads,
    heads,
    causal_entries: entries,
    file_bytes: statSync(file).size,
    results,
  }
}

async function stored(
  model: Model,
  ids: readonly number[],
  store: ReturnType<typeof openStore>,
  capture: readonly string[],
) {
  const run = { modelPath: model.path, modelName: model.name, family: model.spec.family, contentHash: null }
  const provenance = {
    ...run,
    capture,
    edits: [],
    versions: { headscope: '', onnxruntime: '', node: '' },
    device: 'cpu',
    dtype: 'f32' as const,
  }
  const writer = store.beginRun({ provenance, items: [{ ids }] })
  const { items } = await model.run(ids, {
    capture,
    onCapture: (hook, tensor) => writer.write(hook, tensor),
  })
  return writer.complete({ items })
}
