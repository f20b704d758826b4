/**
 * What scanning and comparing cost, beside the bare forwards of the same sequences and prompts. A scan of all heads
 * with B = 8, L = 48; a comparison of two checkpoints on 16 prompts of 64 tokens. Run: `node test/bench/analysis.ts`;
 * two random Llamas of the 135M class are made in a temporary folder. Bare is the cheaper of one whole session per
 * sequence (logits out) and one batch without captures.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { randomRepeats } from '../../core/analysis/sequences.ts'
import { compare, type Model, openModel, scanHeads } from '../../core/index.ts'
import { createRandom } from '../../core/random.ts'
import { type LlamaSize, writeRandomLlama } from './random-llama.ts'
import { rounds } from './rounds.ts'
import { wholeModel } from './whole-model.ts'

/** 30 layers × 9 heads over 3 key/value heads, d_model 576: the size of SmolLM2-135M. */
const CLASS_135M: LlamaSize = {
  layers: 30,
  heads: 9,
  kvHeads: 3,
  width: 576,
  mlp: 1536,
  vocab: 49_152,
  positions: 2048,
}
const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SCAN = { batch: 8, length: 48, seed: 1, bos: false }
const threads = availableParallelism()
const folder = mkdtempSync(join(tmpdir(), 'headscope-bench-'))
try {
  const [a, b] = await Promise.all(
    [1, 2].map((seed) => {
      writeRandomLlama(join(folder, `llama-${seed}`), CLASS_135M, seed)
      return openModel(join(folder, `llama-${seed}`), { threads, cacheDir: join(folder, 'cache') })
    }),
  )
  await Promise.all([a!.contentHash(), b!.contentHash()]) // a pass over the weights, made once and kept
  console.log(JSON.stringify({ scan: await benchScan(a!) }, null, 2))
  console.log(JSON.stringify({ compare: await benchCompare(a!, b!) }, null, 2))
  await Promise.all([a!.close(), b!.close()])
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** Target: at most 1.2. */
async function benchScan(model: Model) {
  const { ids } = randomRepeats(model, SCAN)
  const mapped = await wholeModel(model, threads, false)
  const bare = ['bare, whole session', 'bare, one batch']
  const results = await rounds(
    [
      { name: bare[0]!, run: () => each(ids, (row) => mapped.run(row)) },
      { name: bare[1]!, run: () => model.run(ids, { capture: ['logits'], top: 0 }) },
      { name: 'scan, four scores', run: () => scanHeads(model, SCAN) },
      {
        name: 'scan, pattern scores on the same sequences',
        run: () =>
          scanHeads(model, {
            ...SCAN,
            scores: [
              'induction',
              'previous_token',
              'duplicate_token',
              'first_token_sink',
              'entropy',
              'saturation',
            ],
          }),
      },
    ],
    bare,
    ROUNDS,
  )
  await mapped.close()
  return results
}

/** Target: under 3. The comparison's own random sequences are forwards too, and are in the base. */
async function benchCompare(a: Model, b: Model) {
  const random = createRandom(2)
  const prompts = Array.from({ length: 16 }, () =>
    Array.from({ length: 64 }, () => random.below(CLASS_135M.vocab)),
  )
  const { ids } = randomRepeats(a, SCAN)
  const sessions = await Promise.all([wholeModel(a, threads, false), wholeModel(b, threads, false)])
  const pairs = prompts.map((prompt) => ({ a: prompt, b: prompt }))
  const base = 'both forwards of 16 prompts, whole session'
  const results = await rounds(
    [
      { name: base, run: () => each(sessions, (session) => each(prompts, (row) => session.run(row))) },
      {
        name: 'both forwards of prompts and random sequences',
        run: () => each(sessions, (session) => each([...prompts, ...ids], (row) => session.run(row))),
      },
      { name: 'compare', run: () => compare(a, b, pairs, SCAN) },
    ],
    [base],
    ROUNDS,
  )
  for (const session of sessions) await session.close()
  return results
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  for (const item of items) await work(item)
}
