/** `headscope corpus MODEL PROMPTS`: the strongest examples of every head over many texts. One forward a text. */
import type { CorpusHead } from '../../analysis/corpus.ts'
import { headName } from '../../graph/hook-names.ts'
import { command, UsageError } from '../command.ts'
import { DECODER_OPTIONS, ENGINE_OPTIONS, MODEL_OPTIONS, PROMPT_OPTIONS, STORE_OPTIONS } from '../options.ts'
import type { Output } from '../output.ts'
import { encodePrompts, givenPrompts, viewsOf, withDecoders } from '../prompts.ts'
import { printable, table } from '../table.ts'

export const corpus = command({
  name: 'corpus',
  usage: 'MODEL PROMPTS [options]',
  summary:
    'The strongest examples of every head over many texts: its top edges, and the texts that move it most',
  detail:
    'An edge is a query token that attends to a key token; those to the first position and to itself are left out, and of equal pairs of tokens in one text the strongest counts. --query and --key keep the edges from or to a kind of token. --runs also stores every text with its patterns, so that the app and `sql` (edge_search) find its edges; a text that is there already is not run again.',
  examples: [
    'headscope corpus induction-2l --prompts book.txt',
    'headscope corpus prose-4l --prompts book.txt --query letters --key punctuation --keep 5',
    'headscope corpus prose-4l --prompts book.txt --query "said,asked" --json',
  ],
  options: {
    ...MODEL_OPTIONS,
    ...PROMPT_OPTIONS,
    ...DECODER_OPTIONS,
    keep: { type: 'whole', value: 'N', help: 'edges and texts kept per head (default 10)' },
    query: {
      type: 'text',
      value: 'TOKENS',
      help: 'edges from these: a class (punctuation, digits, …), words with commas, or ids as #42',
    },
    key: { type: 'text', value: 'TOKENS', help: 'edges to these' },
    runs: { type: 'flag', help: 'also store every text with its patterns' },
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    const given = givenPrompts(values, 'corpus')
    if (values.keep !== undefined && values.keep < 1) throw new UsageError('--keep must be 1 or more')
    if (values.runs && values['no-store']) throw new UsageError('--runs and --no-store exclude each other')
    const [{ chooseModel }, { openChosen }, facts, { openWrites }, { tokenChoice }, core, kept] =
      await Promise.all([
        import('../models.ts'),
        import('../runtime.ts'),
        import('../model-facts.ts'),
        import('../store.ts'),
        import('../token-choice.ts'),
        import('../corpus-engine.ts'),
        import('../keep-analysis.ts'),
      ])
    const query = values.query === undefined ? null : tokenChoice(values.query, 'query')
    const key = values.key === undefined ? null : tokenChoice(values.key, 'key')
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    const store = await openWrites(values)
    try {
      const model = await openChosen(chosen, values, call)
      try {
        const read = withDecoders(model, encodePrompts(model, given, values.bos), values)
        const one = await core.asOneText(
          model,
          read.map(({ ids, decoder }) => ({ ids, ...(decoder ? { decoder: decoder.ids } : {}) })),
        )
        const prompts = kept.inputsOf(given, values.bos, values)
        const windows = core.corpusWindows(one.model, prompts, one.ids, core.windowsOf)
        const heads = await core.headsOverCorpus(
          one.model,
          windows.map(({ ids }) => ids),
          {
            ...(values.keep === undefined ? {} : { keep: values.keep }),
            ...(query ? { query: core.tokensOf(model, query) } : {}),
            ...(key ? { key: core.tokensOf(model, key) } : {}),
            signal,
            onProgress: call.progress('corpus'),
          },
        )
        const runs =
          values.runs && store
            ? await core.storeWindows(one.model, windows, {
                workspace: store.writes,
                call: { signal, progress: call.progress('storing') },
              })
            : []
        const shown = new Set(heads.flatMap((head) => [...head.edges, ...head.texts].map((e) => e.prompt)))
        const tokens = windows.map(({ ids }, w) => (shown.has(w) ? viewsOf(model, ids) : []))
        const request = {
          model: model.path,
          prompts,
          ...(values.keep === undefined ? {} : { keep: values.keep }),
          ...(query ? { query } : {}),
          ...(key ? { key } : {}),
          ...(values.runs ? { store: true } : {}),
        }
        const experiment = await kept.keep(store, 'corpus', [model], request, { heads, tokens, runs })
        const { model: known, warnings } = await facts.modelFacts(model, chosen)
        const words = tokens.map((list) => list.map(({ text }) => text))
        if (out.json) {
          out.document({
            model: known,
            definitions: { edges: EDGES, texts: TEXTS },
            windows: windows.map(({ ids }, w) => ({ ids, tokens: words[w]! })),
            heads: heads.map((head) => ({ ...head, edges: head.edges.map((e) => named(e, words)) })),
            runs,
            ...(experiment === null ? {} : { experiment }),
            warnings,
          })
          return 0
        }
        out.line(facts.headline(model, chosen, values.at !== undefined, out.style))
        out.line(out.style.dim(`${windows.length} windows of text`))
        report(out, heads, words)
        if (runs.length > 0) out.line(out.style.dim(`${runs.length} runs are in ${store!.path}`))
        kept.sayKept(out, store, experiment)
        out.warn(warnings)
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

const EDGES =
  'Weight of the query token on the key token; edges to the first position and to itself are left out, of equal pairs of tokens in one text the strongest counts.'
const TEXTS = 'Mean over queries of the weight that does not go to the first position.'

type Edge = CorpusHead['edges'][number]

function named(edge: Edge, words: readonly (readonly string[])[]) {
  const { prompt: window, query, key, weight } = edge
  const text = words[window]!
  return { window, query, key, weight, query_token: text[query], key_token: text[key] }
}

function report(out: Output, heads: readonly CorpusHead[], words: readonly (readonly string[])[]): void {
  const { style } = out
  const ranked = [...heads].sort((a, b) => (b.edges[0]?.weight ?? -1) - (a.edges[0]?.weight ?? -1))
  const rows = ranked.map(({ layer, head, edges, texts }) => [
    { text: headName(layer, head), paint: style.bold },
    edges.length === 0 ? '–' : edges[0]!.weight.toFixed(2),
    edges
      .slice(0, 3)
      .map((edge) => {
        const { query_token: q, key_token: k } = named(edge, words)
        return printable(`‘${q}’ → ‘${k}’`)
      })
      .join('  '),
    texts.length === 0 ? '–' : texts[0]!.mean.toFixed(2),
  ])
  out.line()
  const columns = ['head', 'strongest', 'query → key', 'away from the first'].map((title) => ({ title }))
  for (const line of table(columns, rows, style.bold)) out.line(line)
  out.line()
  out.line(style.dim(`edges: ${EDGES}`))
  out.line(style.dim(`away from the first: ${TEXTS} Of the text that moves the head most.`))
}
