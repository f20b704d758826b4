/**
 * `headscope compare A B… PROMPTS`: what differs between checkpoints on the same prompts and sequences. Costs one
 * forward of each model per prompt and sequence; `--report F.html` writes one file that opens offline.
 */
import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import type { ComparedWeights } from '../../compare/index.ts'
import type { ReportInput } from '../../compare/report.ts'
import type { Comparison } from '../../compare/types.ts'
import { HeadscopeError, sentence } from '../../errors.ts'
import { headName } from '../../graph/hook-names.ts'
import type { Model } from '../../run/model.ts'
import { command, UsageError } from '../command.ts'
import type { Chosen } from '../models.ts'
import { ENGINE_OPTIONS, PROMPT_OPTIONS, STORE_OPTIONS } from '../options.ts'
import type { Output } from '../output.ts'
import { encodePrompts, givenPrompts, viewsOf } from '../prompts.ts'
import { printable, table } from '../table.ts'

export const compare = command({
  name: 'compare',
  usage: 'A B… PROMPTS [options]',
  summary:
    'Two or more checkpoints on the same prompts: scores, patterns, predictions, and which heads moved',
  detail:
    'Every B is compared with A. Deltas are B − A, paired by sequence; those within the noise are not ranked. A series gives all its members.',
  examples: [
    'headscope compare induction-2l/checkpoints/step832 induction-2l --text "The queen Zorblat spoke"',
    'headscope compare base.gguf ./base --prompts prompts.txt --report compare.html',
    'headscope compare seed1 seed2 --prompts prompts.txt --match --weights ov,qk',
  ],
  options: {
    ...PROMPT_OPTIONS,
    scores: { type: 'text', value: 'NAMES', help: 'all, or names with commas (default: the first four)' },
    length: { type: 'whole', value: 'N', help: 'tokens of one copy (default 48, or what fits)' },
    batch: { type: 'whole', value: 'N', help: 'sequences (default 32)' },
    seed: { type: 'whole', value: 'N', help: 'seed of the random tokens (default 1)' },
    match: { type: 'flag', help: 'match heads by behaviour, not by index' },
    weights: { type: 'text', value: 'ov,qk', help: 'compare these maps of the weights too' },
    report: { type: 'text', value: 'F.html', help: 'write a report: one file, offline' },
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1000],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    const given = givenPrompts(values, 'compare')
    if (values.report !== undefined) checkReport(values.report)
    const [{ chooseModels, titleOf }, { openChosen }, { modelFacts }, core, { openWrites }, kept] =
      await Promise.all([
        import('../models.ts'),
        import('../runtime.ts'),
        import('../model-facts.ts'),
        import('../../compare/index.ts'),
        import('../store.ts'),
        import('../keep-analysis.ts'),
      ])
    const maps = values.weights === undefined ? null : core.invariantsOf(values.weights.split(','))
    const { models } = await chooseModels(positionals, undefined, place)
    if (models.length < 2) throw new UsageError('compare needs two models or more: compare A B PROMPTS')
    const [first, ...rest] = models as [Chosen, ...Chosen[]]
    const store = await openWrites(values)
    let a: Model | null = null
    try {
      a = await openChosen(first, values, call)
      const inA = a
      const factsA = await modelFacts(a, first)
      const promptsA = encodePrompts(a, given, values.bos)
      const results: Result[] = []
      const broken: { path: string; error: string }[] = []
      for (const chosen of rest) {
        const label = rest.length > 1 ? `compare ${results.length + 1} of ${rest.length}:` : 'compare'
        try {
          const b = await openChosen(chosen, values, call)
          try {
            // Without a tokenizer of its own B reads A's ids.
            const promptsB = b.tokenizer ? encodePrompts(b, given, values.bos) : promptsA
            const pairs = promptsA.map(({ ids }, i) => ({ a: ids, b: promptsB[i]!.ids }))
            const comparison = await core.compare(a, b, pairs, {
              ...optionsOf(values),
              signal,
              onProgress: call.progress(label),
            })
            const facts = await modelFacts(b, chosen)
            const tokens = comparison.prediction.prompts.map(({ ids }) => viewsOf(inA, ids))
            const inWeights = maps ? await core.compareWeights(a, b, maps, signal) : null
            const weights = inWeights?.heads ?? null
            const pictures =
              values.report === undefined ? [] : await core.mostChangedPatterns(a, b, comparison, { signal })
            const request = {
              ...{ a: a.path, b: b.path, prompts: kept.inputsOf(given, values.bos) },
              ...optionsOf(values),
              ...(maps ? { weights: maps } : {}),
            }
            const experiment = await kept.keep(store, 'compare', [a, b], request, {
              ...comparison,
              warnings: [...comparison.warnings, ...(inWeights?.why ? [inWeights.why] : [])],
              ...{ a: titleOf(first, true), b: titleOf(chosen, true), tokens, weights, report: null },
            })
            results.push({
              title: titleOf(chosen, true),
              experiment,
              facts: facts.model,
              warnings: [
                ...facts.warnings,
                ...comparison.warnings,
                ...(inWeights?.why ? [inWeights.why] : []),
              ],
              comparison,
              weights,
              pictures,
            })
          } finally {
            await b.close()
          }
        } catch (error) {
          // One that cannot be read is named, and the rest goes on; of two there is no rest.
          if (!(error instanceof HeadscopeError) || error.code === 'cancelled' || rest.length === 1)
            throw error
          broken.push({ path: chosen.path, error: sentence(error) })
        }
      }
      if (results.length === 0)
        throw new HeadscopeError('bad-checkpoint', `None of the models can be compared: ${broken[0]!.error}`)
      const lost = broken.map(({ path, error }) => `${basename(path)} is left out: ${error}`)
      const warnings = [...new Set([...factsA.warnings, ...results.flatMap((one) => one.warnings), ...lost])]
      if (values.report !== undefined) {
        const { versions } = await import('../../run/versions.ts')
        const input: ReportInput = {
          headscope: versions.headscope,
          created: new Date().toISOString(),
          a: { name: titleOf(first, true), ...factsA.model },
          comparisons: results.map(({ title, facts, comparison, pictures }) => ({
            b: { name: title, ...facts },
            comparison,
            tokens: comparison.prediction.prompts.map(({ ids }) => viewsOf(inA, ids)),
            pictures,
          })),
        }
        const { writeAtomically } = await import('../../checkpoint/safetensors-write.ts')
        const html = Buffer.from(core.reportHtml(input))
        writeAtomically(resolve(values.report), (write) => write(html))
      }
      if (out.json)
        out.document(documentOf(factsA.model, results, broken, warnings, core.WEIGHTS, values.report))
      else {
        for (const result of results) {
          report(out, titleOf(first, true), result)
          kept.sayKept(out, store, result.experiment)
        }
        if (values.report !== undefined) out.line(out.style.dim(`Report in ${resolve(values.report)}`))
        out.warn(warnings)
      }
      return 0
    } finally {
      await a?.close()
      store?.writes.close()
    }
  },
})

// --- Internal helpers ---

interface Result {
  readonly title: string
  /** Its number in the workspace; null with --no-store. */
  readonly experiment: number | null
  readonly facts: { readonly path: string; readonly hash: string; readonly family: string }
  readonly warnings: readonly string[]
  readonly comparison: Comparison
  readonly weights: readonly ComparedWeights[] | null
  readonly pictures: ReportInput['comparisons'][number]['pictures']
}

function optionsOf(values: {
  readonly scores: string | undefined
  readonly length: number | undefined
  readonly batch: number | undefined
  readonly seed: number | undefined
  readonly match: boolean
}) {
  const { scores, length, batch, seed, match } = values
  return {
    ...(scores === undefined ? {} : { scores: scores.split(',').map((name) => name.trim()) }),
    ...(length === undefined ? {} : { length }),
    ...(batch === undefined ? {} : { batch }),
    ...(seed === undefined ? {} : { seed }),
    match,
  }
}

/** A report that cannot be written is said before anything is computed. */
function checkReport(file: string): void {
  const folder = dirname(resolve(file))
  if (!/\.html?$/i.test(file))
    throw new HeadscopeError(
      'bad-request',
      `${basename(file)} is not the name of a report: it ends in .html.`,
    )
  if (!existsSync(folder))
    throw new HeadscopeError('not-found', `${folder} does not exist; name a report in a folder that does.`)
}

function documentOf(
  a: Result['facts'],
  results: readonly Result[],
  broken: readonly { path: string; error: string }[],
  warnings: readonly string[],
  weightsText: string,
  report: string | undefined,
) {
  const one = ({ comparison, weights, experiment }: Result) => {
    const { identical, heads, moved, prediction, matches, vocabulary, sameShape } = comparison
    return {
      identical,
      same_shape: sameShape,
      vocabulary,
      heads: heads.map((head) => withWhy(head, head.pattern_interval, prediction.prompts.length)),
      moved,
      prediction: withWhy(prediction, prediction.kl_interval, prediction.prompts.length),
      ...(matches ? { matches } : {}),
      ...(weights ? { weights } : {}),
      ...(experiment === null ? {} : { experiment }),
    }
  }
  const first = results[0]!
  const definitions = {
    ...first.comparison.definitions,
    ...(first.weights ? { weights: weightsText } : {}),
  }
  return {
    models: [a, ...results.map(({ facts }) => facts)],
    definitions,
    seed: first.comparison.seed,
    ...(results.length === 1
      ? one(first)
      : { comparisons: results.map((result) => ({ b: result.facts.path, ...one(result) })) }),
    ...(broken.length > 0 ? { broken } : {}),
    ...(report === undefined ? {} : { report: resolve(report) }),
    warnings,
  }
}

/** Why there is no interval, where nothing says yet why there is no value. */
function withWhy<T extends { readonly why?: string }>(value: T, interval: unknown, prompts: number): T {
  if (interval !== null || value.why !== undefined) return value
  return { ...value, why: `no interval: n = ${prompts}, needs 5 prompts` }
}

function report(out: Output, nameA: string, { title, comparison, weights }: Result): void {
  const { style } = out
  const { identical, heads, moved, prediction, matches } = comparison
  out.line(`${style.bold(nameA)} and ${style.bold(title)}${identical ? '  the same weights' : ''}`)
  const { kl, top1_agreement: agreement, positions, why } = prediction
  if (kl === null) out.line(style.dim(`predictions: – (${why ?? 'not comparable'})`))
  else
    out.line(
      `predictions: KL(A‖B) ${kl.toFixed(4)} nats; same likeliest token at ${(100 * agreement!).toFixed(1)} % of ${positions} positions`,
    )
  if (!comparison.vocabulary.same) out.line(differingTokens(comparison.vocabulary))
  if (heads.length > 0) {
    out.line()
    const scores = Object.keys(heads[0]!.deltas).slice(0, 4)
    const ranked = [...heads].sort((x, y) => (y.pattern_distance ?? 0) - (x.pattern_distance ?? 0))
    const rows = ranked.map(({ layer, head, pattern_distance: distance, deltas }) => [
      { text: headName(layer, head), paint: style.bold },
      distance === null ? '–' : distance.toFixed(3),
      ...scores.map((name) => {
        const { value, clear } = deltas[name]!
        if (value === null) return '–'
        const text = `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(3)}`
        return clear ? text : `(${text})`
      }),
    ])
    const titles = ['head', 'pattern distance', ...scores.map((name) => `Δ ${name.replaceAll('_', ' ')}`)]
    for (const line of table(
      titles.map((text) => ({ title: text })),
      rows,
      style.bold,
    ))
      out.line(line)
    out.line()
    out.line(
      moved.length === 0
        ? style.dim('no head’s score moved beyond the noise')
        : `${style.dim('moved most')} ${moved
            .slice(0, 6)
            .map(({ layer, head, score, delta }) => `${headName(layer, head)} ${score} ${delta.toFixed(2)}`)
            .join(', ')}`,
    )
  }
  if (matches)
    out.line(
      `${style.dim('matched by behaviour')} ${matches
        .slice(0, 8)
        .map(
          ({ a, b, similarity }) =>
            `${headName(a.layer, a.head)}↔${headName(b.layer, b.head)} ${similarity.toFixed(2)}`,
        )
        .join(', ')}`,
    )
  if (weights)
    for (const { layer, head, ov, qk } of weights) {
      const part = (name: string, value: typeof ov) =>
        value ? `${name} cosine ${value.cosine?.toFixed(3) ?? `– (${value.why})`}` : ''
      out.line(
        `${style.bold(headName(layer, head))} ${[part('OV', ov), part('QK', qk)].filter(Boolean).join('  ')}`,
      )
    }
  if (heads.length > 0) out.line(style.dim('Deltas in brackets are within the noise of the sequences.'))
  out.line()
}

/** Tokens that are named of those that differ. */
const NAMED = 6

function differingTokens({ different, examples, sizes }: Comparison['vocabulary']): string {
  const text = (one: string | null) => (one === null ? 'none' : `‘${printable(one)}’`)
  const first = examples.slice(0, NAMED).map(({ id, a, b }) => `#${id} ${text(a)} / ${text(b)}`)
  return `vocabularies of ${sizes.join(' and ')} tokens: ${different} differ: ${first.join(', ')}${different > NAMED ? ' …' : ''}`
}
