/** `headscope spans MODEL PROMPTS`: A B … A → B places in real text, and the heads that attend there. One forward a text. */

import type { SpanHead, Spans } from '../../analysis/spans.ts'
import type { Score } from '../../analysis/types.ts'
import { headName } from '../../graph/hook-names.ts'
import type { SpanEffect } from '../../intervene/span-effect.ts'
import { command, UsageError } from '../command.ts'
import { DECODER_OPTIONS, ENGINE_OPTIONS, MODEL_OPTIONS, PROMPT_OPTIONS, STORE_OPTIONS } from '../options.ts'
import type { Output } from '../output.ts'
import { encodePrompts, givenPrompts, viewsOf, withDecoders, wordOf } from '../prompts.ts'
import { counted, table } from '../table.ts'

export const spans = command({
  name: 'spans',
  usage: 'MODEL PROMPTS [options]',
  summary: 'A B … A → B places in real text: which heads attend from the later A to the earlier B',
  detail:
    'A hit: the strongest key of the row, position 0 left out, is a B; with --hit weight: the weight on the B is --threshold or more. A rate needs 20 places. --check ablates the best heads and compares losses on second occurrences with matched controls.',
  examples: [
    'headscope spans induction-2l --prompts book.txt',
    'headscope spans induction-2l --text "The queen Zorblat spoke. The queen Zor" --json',
    'headscope spans prose-4l --prompts book.txt --check',
  ],
  options: {
    ...MODEL_OPTIONS,
    ...PROMPT_OPTIONS,
    ...DECODER_OPTIONS,
    hit: {
      type: 'text',
      value: 'RULE',
      choices: ['strongest', 'weight'],
      help: 'what counts as a hit: strongest (default) or weight',
    },
    threshold: { type: 'number', value: 'W', help: 'the weight of --hit weight (default 0.2)' },
    fewest: { type: 'whole', value: 'N', help: 'places below which a head has no rate (default 20)' },
    listed: { type: 'whole', value: 'N', help: 'places that are listed at most (default 2000)' },
    check: { type: 'flag', help: 'ablate the three best heads: loss on second occurrences and controls' },
    head: {
      type: 'text',
      value: 'L1H3',
      multiple: true,
      help: 'ablate these heads instead; repeat for several',
    },
    batch: { type: 'whole', value: 'N', help: 'sequences of the random-repeat score (default 16)' },
    seed: { type: 'whole', value: 'N', help: 'seed of the random repeats and intervals (default 1)' },
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    const given = givenPrompts(values, 'spans')
    for (const name of ['fewest', 'listed', 'batch'] as const)
      if (values[name] !== undefined && values[name] < 1) throw new UsageError(`--${name} must be 1 or more`)
    const { threshold: least } = values
    if (least !== undefined && values.hit !== 'weight')
      throw new UsageError('--threshold is of --hit weight: give both, or leave it out')
    if (least !== undefined && !(least > 0 && least <= 1))
      throw new UsageError(`--threshold is ${least}, but a weight lies above 0 and at most at 1`)
    const chosenHeads = values.head.map(headAt)
    const [{ chooseModel }, { openChosen }, { modelFacts, headline }, { openWrites }, kept, { asOneText }] =
      await Promise.all([
        import('../models.ts'),
        import('../runtime.ts'),
        import('../model-facts.ts'),
        import('../store.ts'),
        import('../keep-analysis.ts'),
        import('../../run/one-text.ts'),
      ])
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    const store = await openWrites(values)
    let model: Awaited<ReturnType<typeof openChosen>> | null = null
    try {
      model = await openChosen(chosen, values, call)
      const prompts = withDecoders(model, encodePrompts(model, given, values.bos), values)
      const one = await asOneText(
        model,
        prompts.map(({ ids, decoder }) => ({ ids, ...(decoder ? { decoder: decoder.ids } : {}) })),
      )
      const [{ findSpans }, { SPAN_EFFECT, spanEffects }] = await Promise.all([
        import('../../analysis/spans.ts'),
        import('../../intervene/span-effect.ts'),
      ])
      const { hit, threshold, fewest, listed, batch, seed } = values
      const asked = {
        ...(hit === undefined ? {} : { hit: hit as 'strongest' | 'weight' }),
        ...(threshold === undefined ? {} : { threshold }),
      }
      const found = await findSpans(one.model, one.ids, {
        ...asked,
        ...(fewest === undefined ? {} : { fewest }),
        ...(listed === undefined ? {} : { listed }),
        ...(batch === undefined ? {} : { batch }),
        ...(seed === undefined ? {} : { seed }),
        signal,
        onProgress: call.progress('spans'),
      })
      const heads = chosenHeads.length > 0 ? { heads: chosenHeads } : {}
      const check = values.check || chosenHeads.length > 0
      const effects = check
        ? await spanEffects(one.model, found, { ...heads, signal, onProgress: call.progress('ablating') })
        : null
      const request = {
        ...{ model: model.path, prompts: kept.inputsOf(given, values.bos, values) },
        ...asked,
        ...(check ? { check } : {}),
        ...heads,
      }
      const tokens = found.windows.map(({ ids }) => viewsOf(model!, ids))
      const experiment = await kept.keep(store, 'spans', [model], request, {
        ...found,
        tokens,
        causal: effects,
      })
      const facts = await modelFacts(model, chosen)
      const warnings = [...new Set([...facts.warnings, ...found.warnings])]
      if (out.json) {
        const { definitions, settings, windows, places, queries } = found
        out.document({
          model: facts.model,
          definitions: effects ? { ...definitions, causal: SPAN_EFFECT } : definitions,
          seed: settings.seed,
          settings,
          places,
          queries,
          windows: windows.map(({ prompt, ids }, w) => ({
            prompt,
            ids,
            tokens: tokens[w]!.map(({ text }) => text),
          })),
          items: found.items.map(({ token, ...item }) => ({
            ...item,
            token: wordOf(model!, token),
            id: token,
          })),
          heads: found.heads,
          ...(effects ? { causal: effects } : {}),
          ...(experiment === null ? {} : { experiment }),
          warnings,
        })
        return 0
      }
      out.line(headline(model, chosen, values.at !== undefined, out.style))
      const word = (window: number, pos: number) => wordOf(model!, found.windows[window]!.ids[pos]!)
      report(out, found, word)
      if (effects) reportEffects(out, effects, SPAN_EFFECT)
      kept.sayKept(out, store, experiment)
      out.warn(warnings)
      return 0
    } finally {
      await model?.close()
      store?.writes.close()
    }
  },
})

// --- Internal helpers ---

/** L1H3 → {layer, head}. Throws UsageError. */
function headAt(text: string): { layer: number; head: number } {
  const match = /^L?(\d+)[H.](\d+)$/i.exec(text.trim())
  if (match) return { layer: Number(match[1]), head: Number(match[2]) }
  throw new UsageError(`--head is ${JSON.stringify(text)}, but names a head as L1H3`)
}

function report(out: Output, found: Spans, word: (window: number, pos: number) => string): void {
  const { style } = out
  const { windows, places, queries, heads, definitions } = found
  out.line(
    style.dim(
      `${counted(places, 'place')}, ${counted(queries, 'query', 'queries')}, in ${counted(windows.length, 'window')} of text`,
    ),
  )
  out.line()
  const ranked = [...heads].sort((a, b) => (b.rate.value ?? -1) - (a.rate.value ?? -1))
  const rows = ranked.map((head) => [
    { text: headName(head.layer, head.head), paint: style.bold },
    shown(head.rate),
    shown(head.random_repeat),
    shown(head.predicted.hits),
    example(head, word),
  ])
  const columns = ['head', 'rate', 'random repeats', 'model says B', 'strongest hit'].map((title) => ({
    title,
  }))
  for (const line of table(columns, rows, style.bold)) out.line(line)
  out.line()
  for (const [name, text] of Object.entries(definitions))
    out.line(style.dim(`${name.replaceAll('_', ' ')}: ${text}`))
  for (const why of new Set(
    heads.flatMap(({ rate, random_repeat }) => [rate.why ?? [], random_repeat.why ?? []].flat()),
  ))
    out.line(style.dim(`– ${why}`))
}

function reportEffects(out: Output, effects: readonly SpanEffect[], definition: string): void {
  const { style } = out
  out.line()
  const columns = ['ablated', 'second occurrences', 'controls', 'difference', 'another head ablated'].map(
    (title) => ({ title }),
  )
  const rows = effects.map(({ layer, head, second, control, effect, others }) => [
    { text: headName(layer, head), paint: style.bold },
    shown(second),
    shown(control),
    shown(effect),
    others.map((other) => `${headName(other.layer, other.head)} ${shown(other.second)}`).join('  '),
  ])
  for (const line of table(columns, rows, style.bold)) out.line(line)
  out.line(style.dim(definition))
}

function shown({ value, low, high }: Score): string {
  if (value === null) return '–'
  const fixed = (x: number) => x.toFixed(2).replace(/^-0\.00$/, '0.00')
  return low === null || high === null ? fixed(value) : `${fixed(value)} [${fixed(low)}, ${fixed(high)}]`
}

function example(head: SpanHead, word: (window: number, pos: number) => string): string {
  const hit = head.examples.hits[0]
  if (!hit) return ''
  const { window, query, target, weight } = hit
  return `${word(window, target - 1)}${word(window, target)} … ${word(window, query)} → ${word(window, target)} ${weight.toFixed(2)}`
}
