/** Summarises a long prompt in a process of its own and prints its peak memory: `node long-context-run.ts FOLDER TOKENS`. */
import { estimateRun, openModel, summarisePatterns } from '../../core/index.ts'

const [folder, tokens] = [process.argv[2]!, Number(process.argv[3])]
const model = await openModel(folder)
const { memoryBytes, weightBytes } = await estimateRun(model, tokens, 'summary')
const ids = Array.from({ length: tokens }, (_, i) => (i * 37) % model.spec.dVocab)
const started = performance.now()
const { heads } = await summarisePatterns(model, ids)
console.log(
  JSON.stringify({
    heads: heads.length,
    rows: heads[0]!.edgeKeys.length / 4,
    peakBytes: process.resourceUsage().maxRSS * 1024,
    weightBytes,
    estimate: memoryBytes,
    seconds: (performance.now() - started) / 1000,
  }),
)
await model.close()
