/**
 * What a counted row costs: sweeps of several shapes on one model, their estimated block × rows, and the seconds each
 * took a row. Every batch has 64 rows or more. Out: JSON with microseconds a row, and by how much the dearest exceeds
 * the cheapest. Run: `node test/bench/sweep.ts [checkpoint]`; without one a random Llama of the 100M class is made.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ablate, type Model, openModel, patch } from '../../core/index.ts'
import { createRandom } from '../../core/random.ts'
import { CLASS_100M, writeRandomLlama } from './random-llama.ts'
import { median } from './rounds.ts'

const ROUNDS = Number(process.env.ROUNDS ?? 3)
const METRIC = { kind: 'logit_diff', answer: 5, wrong: 7 } as const

const folder = mkdtempSync(join(tmpdir(), 'headscope-bench-'))
try {
  const given = process.argv[2]
  if (!given) writeRandomLlama(folder, CLASS_100M)
  const model = await openModel(given ?? folder, { threads: availableParallelism() })
  const works = sweeps(model)
  const micros = new Map<string, number[]>(Object.keys(works).map((name) => [name, []]))
  const rows = new Map<string, number>()
  for (let round = 0; round <= ROUNDS; round++)
    for (const [name, work] of Object.entries(works)) {
      let counted = 0
      let started = 0
      await work((estimate) => {
        counted = estimate.blockRows
        started = performance.now()
      })
      rows.set(name, counted)
      // The first round loads the weights.
      if (round > 0) micros.get(name)!.push(((performance.now() - started) * 1000) / counted)
    }
  const cases = Object.keys(works).map((name) => ({
    sweep: name,
    block_rows: rows.get(name),
    micros_per_row: Math.round(median(micros.get(name)!) * 10) / 10,
  }))
  const costs = cases.map((one) => one.micros_per_row)
  const spread = Math.max(...costs) / Math.min(...costs) - 1
  console.log(
    JSON.stringify(
      { model: model.name, cases, dearest_over_cheapest: Math.round(spread * 100) / 100 },
      null,
      2,
    ),
  )
  await model.close()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The sweeps by name; each tells its estimate when its base run is done. */
function sweeps(model: Model) {
  const random = createRandom(1)
  const prompt = (length: number) => Array.from({ length }, () => random.below(model.spec.dVocab))
  const text = prompt(64)
  const other = text.map((id) => (id + 1) % model.spec.dVocab)
  const long = prompt(128)
  const count = model.spec.stacks.at(-1)!.layers.length
  const late = [count - 3, count - 2, count - 1]
  type Tell = (estimate: { blockRows: number }) => void
  const zero = { kind: 'zero', metric: METRIC } as const
  return {
    'heads of the first three layers, 64 tokens': (onEstimate: Tell) =>
      ablate(model, text, { ...zero, over: 'heads', layers: [0, 1, 2], onEstimate }),
    'heads of the last three layers, 64 tokens': (onEstimate: Tell) =>
      ablate(model, text, { ...zero, over: 'heads', layers: late, onEstimate }),
    'heads of the last three layers, 128 tokens': (onEstimate: Tell) =>
      ablate(model, long, { ...zero, over: 'heads', layers: late, onEstimate }),
    'positions, 64 tokens, last three layers': (onEstimate: Tell) =>
      patch(model, text, other, { site: 'resid_pre', metric: METRIC, layers: late, onEstimate }),
    'positions, 64 tokens, first three layers': (onEstimate: Tell) =>
      patch(model, text, other, { site: 'resid_pre', metric: METRIC, layers: [0, 1, 2], onEstimate }),
  }
}
