/**
 * `headscope bench MODEL`: what captures and interventions cost on this machine, as ratios to the bare forward.
 * Costs `--rounds` rounds of everything. One round measures each thing once, in turn, so that other load falls on all
 * alike; a ratio is taken within a round, and the median over rounds is shown.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Model } from '../../run/model.ts'
import { command, UsageError } from '../command.ts'
import { ENGINE_OPTIONS, MODEL_OPTIONS, UNSTORED_OPTIONS } from '../options.ts'
import { table } from '../table.ts'

export const bench = command({
  name: 'bench',
  usage: 'MODEL [options]',
  summary: 'What captures and an ablation cost on this machine, as ratios to the bare forward',
  detail: 'Medians of several rounds; each round measures everything once, in turn.',
  examples: [
    'headscope bench induction-2l',
    'headscope bench ./my-model --tokens 256 --rounds 9 --threads 2',
  ],
  options: {
    ...MODEL_OPTIONS,
    tokens: {
      type: 'whole',
      value: 'T',
      help: 'length of the prompt (default 256, or what the model holds)',
    },
    rounds: { type: 'whole', value: 'N', help: 'rounds (default 7)' },
    ...UNSTORED_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    const { rounds = 7 } = values
    if (rounds < 1) throw new UsageError(`--rounds is ${rounds}, but must be 1 or more`)
    if (values.tokens !== undefined && values.tokens < 2)
      throw new UsageError(`--tokens is ${values.tokens}, but must be 2 or more`)
    const [{ chooseModel }, { openChosen }, { modelFacts, headline }] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../model-facts.ts'),
    ])
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    const model = await openChosen(chosen, values, call)
    const folder = mkdtempSync(join(tmpdir(), 'headscope-bench-'))
    try {
      const facts = await modelFacts(model, chosen)
      const ids = await randomIds(model, values.tokens ?? Math.min(256, model.spec.nCtx))
      const { planLongRun } = await import('../../api/compute/long-run.ts')
      await planLongRun(model, [ids.length], 'full', join(folder, 'bench.db'))
      const { tasks, close } = await prepare(model, ids, join(folder, 'bench.db'), signal)
      const times = tasks.map(() => [] as number[])
      const report = call.progress('bench')
      const started = performance.now()
      try {
        for (let round = -1; round < rounds; round++) {
          for (const [i, { work }] of tasks.entries()) {
            signal.throwIfAborted()
            const begin = performance.now()
            await work()
            if (round >= 0) times[i]!.push(performance.now() - begin) // round -1 loads and warms
          }
          const seconds = (performance.now() - started) / 1000
          report({
            done: round + 2,
            total: rounds + 1,
            secondsLeft: (seconds / (round + 2)) * (rounds - round - 1),
          })
        }
      } finally {
        close()
      }
      const results = tasks.map(({ name }, i) => ({
        name,
        ms: median(times[i]!),
        ratio: median(times[i]!.map((time, round) => time / times[0]![round]!)),
      }))
      const threads = values.threads ?? (await import('node:os')).availableParallelism()
      if (out.json) {
        out.document({
          model: facts.model,
          tokens: ids.length,
          rounds,
          threads,
          results,
          seed: 1,
          warnings: facts.warnings,
        })
        return 0
      }
      out.line(headline(model, chosen, values.at !== undefined, out.style))
      out.line(out.style.dim(`${ids.length} tokens, ${threads} threads, medians of ${rounds} rounds`))
      out.line()
      const columns = [{ title: '' }, { title: 'ms', right: true }, { title: '× bare', right: true }]
      const rows = results.map(({ name, ms, ratio }) => [
        name,
        ms.toFixed(1),
        { text: ratio.toFixed(2), paint: out.style.bold },
      ])
      for (const line of table(columns, rows, out.style.bold)) out.line(line)
      out.warn(facts.warnings)
      return 0
    } finally {
      await model.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
})

// --- Internal helpers ---

interface Task {
  readonly name: string
  readonly work: () => Promise<unknown>
}

/** What is measured; the first is the bare forward. */
async function prepare(
  model: Model,
  ids: readonly number[],
  file: string,
  signal: AbortSignal,
): Promise<{ tasks: Task[]; close: () => void }> {
  const [
    { openStore },
    { workspaceWrites },
    { storedCaptures, provenanceOf },
    { baseRun, restart },
    { resolveEdits },
    { decoderOf, hookPrefix },
    { specSummary },
    { logitsOf },
    { slice },
  ] = await Promise.all([
    import('../../store/capture-store.ts'),
    import('../../api/compute/workspace-writes.ts'),
    import('../../api/compute/stored-run.ts'),
    import('../../run/restart.ts'),
    import('../../run/edits.ts'),
    import('../../graph/model-spec.ts'),
    import('../../api/spec-summary.ts'),
    import('../../run/predictions.ts'),
    import('../../run/dense.ts'),
  ])
  const store = openStore(file)
  const writes = workspaceWrites(store)
  const layers = decoderOf(model.spec).layers.length
  const layer = Math.floor(layers / 2)
  const capture = storedCaptures(specSummary(model.spec), model.hooks)
  // Where a decoder reads an encoder, both read the same ids.
  const both = model.spec.encoderDecoder ? { decoderIds: [ids] } : {}
  const zero = { hook: `${hookPrefix(model.spec)}blocks.${layer}.attn.hook_z`, head: 0, op: 'zero' } as const
  const engine = model.engine()
  const base = await baseRun(engine, [ids], signal, both.decoderIds)
  const edits = await resolveEdits([zero], {
    spec: model.spec,
    hooks: model.hooks,
    lengths: [ids.length],
    sourceLengths: both.decoderIds && [ids.length],
    total: ids.length,
    source: () => Promise.reject(new Error('a zero has no source')),
  })
  const plan = {
    provenance: provenanceOf(model, capture, []),
    items: [{ ids, ...(both.decoderIds ? { source: { ids } } : {}) }],
  }
  const tasks: Task[] = [
    { name: 'bare forward', work: () => model.run(ids, { ...both, top: 1, signal }) },
    {
      name: 'patterns and residuals in memory',
      work: () => model.run(ids, { ...both, top: 1, capture, signal }),
    },
    {
      name: 'patterns and residuals in SQLite',
      work: () =>
        writes.storeRun(model, plan, (onCapture) =>
          model.run(ids, { ...both, top: 1, capture, onCapture, signal }),
        ),
    },
    {
      name: `one head of layer ${layer} ablated, whole run`,
      work: () => model.run(ids, { ...both, top: 1, edits: [zero], signal }),
    },
    {
      name: `one head of layer ${layer} ablated, restart with the last logits`,
      async work() {
        const state = await restart(engine, base, { layer, pos: 0, edits, signal })
        const last = slice(state.get('resid')!, 1, ids.length - 1, ids.length)
        await logitsOf(engine, last, ids.length - 1, [])
      },
    },
  ]
  return { tasks, close: () => writes.close() }
}

async function randomIds(model: Model, tokens: number): Promise<number[]> {
  const { createRandom } = await import('../../random.ts')
  const random = createRandom(1)
  const vocab = Math.min(model.spec.dVocab, model.spec.encoderDecoder?.sourceVocab ?? model.spec.dVocab)
  return Array.from({ length: tokens }, () => random.below(vocab))
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
