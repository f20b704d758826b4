/**
 * `headscope weights MODEL`: spectra and composition of the heads, and the token pairs of one head's circuits. No
 * forward: the attention matrices are read once, token pairs cost V² d_head multiplications.
 */
import type { TokenPair } from '../../analysis/circuits.ts'
import type { CompositionCell } from '../../analysis/composition.ts'
import type { WeightAnalysis } from '../../analysis/weights.ts'
import { headName } from '../../graph/hook-names.ts'
import { command, UsageError } from '../command.ts'
import { ENGINE_OPTIONS, MODEL_OPTIONS, UNSTORED_OPTIONS } from '../options.ts'
import type { Output } from '../output.ts'
import { printable, table } from '../table.ts'

export const weights = command({
  name: 'weights',
  usage: 'MODEL [options]',
  summary: 'What the weights say of the heads: OV and QK spectra, copying, composition, token pairs',
  detail:
    'Singular values come from d_head Gram matrices; composition is shown beside what random matrices give, 1/√d_model. --pairs lists the strongest input–output tokens of one head.',
  examples: [
    'headscope weights induction-2l',
    'headscope weights induction-2l --json --no-composition',
    'headscope weights induction-2l --pairs ov --head L1H3',
  ],
  options: {
    ...MODEL_OPTIONS,
    fold: {
      type: 'text',
      value: 'WHETHER',
      choices: ['yes', 'no'],
      help: 'the gain of the norm before attention is folded in (default yes)',
    },
    'no-composition': { type: 'flag', help: 'leave composition out: the costly part of deep models' },
    pairs: { type: 'text', value: 'CIRCUIT', choices: ['ov', 'qk'], help: 'token pairs of one head' },
    head: { type: 'text', value: 'L1H3', help: 'the head of --pairs' },
    top: { type: 'whole', value: 'N', help: 'pairs, or compositions, that are listed (default 20)' },
    ...UNSTORED_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    const { top = 20 } = values
    if (top < 1) throw new UsageError(`--top is ${top}, but must be 1 or more`)
    const head = values.head === undefined ? null : parseHead(values.head)
    if ((values.pairs === undefined) !== (head === null))
      throw new UsageError('--pairs and --head go together: --pairs ov --head L1H3')
    const [{ chooseModel }, { openChosen }, facts, { weightAnalysis }, { tokenPairs }, { wordOf }, copies] =
      await Promise.all([
        import('../models.ts'),
        import('../runtime.ts'),
        import('../model-facts.ts'),
        import('../../analysis/weights.ts'),
        import('../../analysis/circuits.ts'),
        import('../prompts.ts'),
        import('../../analysis/copying-scores.ts'),
      ])
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    const model = await openChosen(chosen, values, call)
    try {
      const circuit = values.pairs as 'ov' | 'qk' | undefined
      const pairs =
        circuit && head
          ? await tokenPairs(model, head, {
              circuit,
              count: top,
              signal,
              onProgress: call.progress('token pairs'),
            })
          : null
      const analysis = pairs
        ? null
        : await weightAnalysis(model, {
            fold: values.fold !== 'no',
            composition: !values['no-composition'],
            signal,
            onProgress: call.progress('weights'),
          })
      const copying = pairs ? null : await copies.copyingScores(model, signal)
      const { model: known, warnings } = await facts.modelFacts(model, chosen)
      if (out.json) {
        const named = pairs?.map(({ input, output, value }) => ({
          input: { id: input, token: wordOf(model, input) },
          output: { id: output, token: wordOf(model, output) },
          value,
        }))
        out.document({
          model: known,
          ...(analysis
            ? {
                ...analysis,
                definitions: { ...analysis.definitions, copying: copying!.definition },
                heads: analysis.heads.map((one) => ({
                  ...one,
                  copying: copying!.heads[one.layer]![one.head]!,
                })),
              }
            : { circuit, ...head, pairs: named }),
          warnings,
        })
        return 0
      }
      out.line(facts.headline(model, chosen, values.at !== undefined, out.style))
      out.line()
      if (analysis) report(out, analysis, copying!.heads, top)
      if (pairs) reportPairs(out, pairs, circuit!, (id) => wordOf(model, id))
      out.warn(warnings)
      return 0
    } finally {
      await model.close()
    }
  },
})

// --- Internal helpers ---

function parseHead(text: string): { layer: number; head: number } {
  const match = /^L(\d+)H(\d+)$/i.exec(text)
  if (!match) throw new UsageError(`--head is written L1H3, not ${JSON.stringify(text)}`)
  return { layer: Number(match[1]), head: Number(match[2]) }
}

function report(
  out: Output,
  analysis: WeightAnalysis,
  copying: readonly (readonly { readonly value: number | null }[])[],
  top: number,
): void {
  const { style } = out
  const shown = (values: readonly number[]) =>
    values
      .slice(0, 4)
      .map((value) => value.toPrecision(3))
      .join(' ')
  const spectra = [
    ...analysis.heads.map((one) => ({
      ...one,
      name: headName(one.layer, one.head),
      copies: copying[one.layer]![one.head]!.value,
    })),
    ...(analysis.cross_heads ?? []).map((one) => ({
      ...one,
      name: `${headName(one.layer, one.head)} cross`,
      copies: null,
    })),
  ]
  const rows = spectra.map(({ name, copies, ov, qk, ov_norm, qk_norm }) => {
    return [
      { text: name, paint: style.bold },
      ov_norm.toPrecision(3),
      shown(ov),
      qk_norm.toPrecision(3),
      shown(qk),
      copies === null ? '–' : copies.toFixed(2),
    ]
  })
  const columns = [
    { title: 'head' },
    { title: '|OV|', right: true },
    { title: 'singular values' },
    { title: '|QK|', right: true },
    { title: 'singular values' },
    { title: 'copying', right: true },
  ]
  for (const line of table(columns, rows, style.bold)) out.line(line)
  if (analysis.composition) {
    const all = (['q', 'k', 'v'] as const).flatMap((kind) =>
      analysis.composition![kind].flatMap((cell) =>
        cell.value === null ? [] : [{ kind, ...cell, value: cell.value }],
      ),
    )
    const best = all.sort((a, b) => b.value - a.value).slice(0, top)
    const name = ({ layer, head }: CompositionCell['from']) => headName(layer, head)
    out.line()
    const rows = best.map(({ kind, from, to, value }) => [
      `${kind.toUpperCase()}`,
      `${name(from)} → ${name(to)}`,
      value.toFixed(4),
    ])
    const titles = [{ title: 'composition' }, { title: 'heads' }, { title: 'value', right: true }]
    for (const line of table(titles, rows, style.bold)) out.line(line)
    out.line(style.dim(`random matrices give about ${analysis.random_baseline.toFixed(4)} (1/√d_model)`))
  }
  for (const caveat of analysis.caveats) out.line(style.dim(`– ${caveat}`))
}

function reportPairs(
  out: Output,
  pairs: readonly TokenPair[],
  circuit: 'ov' | 'qk',
  word: (id: number) => string,
): void {
  const titles = circuit === 'ov' ? ['attended', 'raises', 'by'] : ['query', 'key', 'score']
  const columns = titles.map((title, i) => ({ title, right: i === 2 }))
  const rows = pairs.map(({ input, output, value }) => [
    printable(word(input)),
    printable(word(output)),
    value.toPrecision(4),
  ])
  for (const line of table(columns, rows, out.style.bold)) out.line(line)
}
