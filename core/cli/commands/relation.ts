/** `headscope relation MODEL`: does a head's query favour the target over the distractor? One forward a sentence. */
import type { RelationHead, RelationReport } from '../../analysis/relation.ts'
import type { Score } from '../../analysis/types.ts'
import type { RelationRequest } from '../../api/contract.ts'
import { readText } from '../../checkpoint/files.ts'
import { headName } from '../../graph/hook-names.ts'
import { command, UsageError } from '../command.ts'
import { ENGINE_OPTIONS, MODEL_OPTIONS, STORE_OPTIONS } from '../options.ts'
import type { Output } from '../output.ts'
import { table } from '../table.ts'

export const relation = command({
  name: 'relation',
  usage: 'MODEL [options]',
  summary: 'Relation probe: which heads tell the target of a query from a distractor of the same kind',
  detail:
    'Without a file: “A green forest surrounded the blue creature” and its variations, shipped with it. --template is JSON with "template" (texts with {query}, {target}, {distractor} and other slots) and "slots" (words by name); --triples is JSONL with "text" or "ids" and the token positions "query", "target", "distractor".',
  examples: [
    'headscope relation prose-4l',
    'headscope relation prose-4l --template adjectives.json --json',
    'headscope relation prose-4l --triples triples.jsonl',
  ],
  options: {
    ...MODEL_OPTIONS,
    template: { type: 'text', value: 'F.json', help: 'sentences with slots, and words for them' },
    triples: { type: 'text', value: 'F.jsonl', help: 'prompts with the positions of three tokens' },
    seed: { type: 'whole', value: 'N', help: 'seed of the intervals (default 1)' },
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    if (values.template !== undefined && values.triples !== undefined)
      throw new UsageError('--template and --triples exclude each other')
    const [{ chooseModel }, { openChosen }, facts, { openWrites }, analysis, input, example, kept] =
      await Promise.all([
        import('../models.ts'),
        import('../runtime.ts'),
        import('../model-facts.ts'),
        import('../store.ts'),
        import('../../analysis/relation.ts'),
        import('../../analysis/relation-input.ts'),
        import('../../analysis/relation-example.ts'),
        import('../keep-analysis.ts'),
      ])
    const asked = {
      ...(values.template === undefined
        ? {}
        : { template: input.parseTemplateFile(readText(values.template, values.template)) }),
      ...(values.triples === undefined
        ? {}
        : { triples: input.parseTriples(readText(values.triples, values.triples)) }),
    } satisfies Omit<RelationRequest, 'model'>
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    const store = await openWrites(values)
    try {
      const model = await openChosen(chosen, values, call)
      try {
        const triples = asked.triples
          ? asked.triples.map(({ prompt, ...places }) => ({
              ids: 'ids' in prompt ? prompt.ids : model.encode(prompt.text),
              ...places,
            }))
          : analysis.relationTriples(model, asked.template ?? example.RELATION_EXAMPLE)
        const found = await analysis.relationProbe(model, triples, {
          ...(values.seed === undefined ? {} : { seed: values.seed }),
          signal,
          onProgress: call.progress('relation'),
        })
        const request = { model: model.path, ...asked }
        const experiment = await kept.keep(store, 'relation', [model], request, found)
        const { model: known, warnings } = await facts.modelFacts(model, chosen)
        const all = [...new Set([...warnings, ...found.warnings])]
        if (out.json) {
          const { definition, triples: count, heads } = found
          out.document({
            model: known,
            definitions: { relation: definition },
            seed: values.seed ?? 1,
            triples: count,
            heads,
            ...(experiment === null ? {} : { experiment }),
            warnings: all,
          })
          return 0
        }
        out.line(facts.headline(model, chosen, values.at !== undefined, out.style))
        report(out, found)
        kept.sayKept(out, store, experiment)
        out.warn(all)
        return 0
      } finally {
        await model.close()
      }
    } finally {
      store?.writes.close()
    }
  },
})

// --- Internal helpers ---

/** Below it a head's preference is told from chance. */
const CLEAR = 0.05

function report(out: Output, { heads, triples, definition }: RelationReport): void {
  const { style } = out
  const isClear = ({ p_holm: p }: RelationHead) => p !== null && p < CLEAR
  const ranked = [...heads].sort(
    (a, b) =>
      Number(isClear(b)) - Number(isClear(a)) ||
      Math.abs(b.difference.value ?? 0) - Math.abs(a.difference.value ?? 0),
  )
  out.line(
    style.dim(`${triples} triples; ${heads.filter(isClear).length} heads with corrected p below ${CLEAR}`),
  )
  out.line()
  const rows = ranked.map((head) => [
    { text: headName(head.layer, head.head), paint: style.bold },
    shown(head.difference),
    head.won === null ? '–' : `${Math.round(100 * head.won)} %`,
    `${head.wins}:${head.losses}`,
    head.p_holm === null ? '–' : head.p_holm < 0.001 ? '< 0.001' : head.p_holm.toFixed(3),
  ])
  const columns = ['head', 'target − distractor', 'won', 'won:lost', 'p, corrected'].map((title) => ({
    title,
  }))
  for (const line of table(columns, rows, style.bold)) out.line(line)
  out.line()
  out.line(style.dim(definition))
  for (const why of new Set(heads.flatMap((head) => head.why ?? []))) out.line(style.dim(`– ${why}`))
}

function shown({ value, low, high }: Score): string {
  if (value === null) return '–'
  const signed = (x: number) => `${x < 0 ? '−' : '+'}${Math.abs(x).toFixed(3)}`
  return low === null || high === null ? signed(value) : `${signed(value)} [${signed(low)}, ${signed(high)}]`
}
