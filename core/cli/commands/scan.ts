/** `headscope scan MODEL…`: every head's scores on repeated random tokens. Costs one forward per sequence. */

import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { ScanOptions } from '../../analysis/scan.ts'
import type { ScanResult } from '../../analysis/types.ts'
import type { SeriesRequest } from '../../api/contract-heads.ts'
import type { BrokenMember, Series } from '../../compare/series.ts'
import { HeadscopeError, isCancelled, sentence } from '../../errors.ts'
import { command, Interrupted, UsageError } from '../command.ts'
import { ENGINE_OPTIONS, MODEL_OPTIONS, PROMPT_OPTIONS, STORE_OPTIONS } from '../options.ts'
import { encodePrompts, givenPrompts } from '../prompts.ts'
import type { ScannedMember } from '../scan-series.ts'

interface Scanned extends ScannedMember {
  readonly model: object
  readonly warnings: readonly string[]
}

export const scan = command({
  name: 'scan',
  usage: 'MODEL… [options]',
  summary: 'Scores of every head: induction, previous token, duplicate token, sink; with --scores all twenty',
  detail:
    'Each score is a mean over sequences of random tokens with a 95 % bootstrap interval; scores of weights have none. Several models, or a series, give one scan each; a series also says when heads appear, and a member that cannot be read is named while the rest goes on. Prompts are read by prefix_matching and icl only.',
  examples: [
    'headscope scan induction-2l',
    'headscope scan induction-2l/checkpoints --scores induction --no-store',
    'headscope scan ./my-model --length 64 --batch 64 --seed 7 --json > scores.json',
    'headscope scan induction-2l --scores all --prompts book.txt',
  ],
  options: {
    ...MODEL_OPTIONS,
    scores: { type: 'text', value: 'NAMES', help: 'all, or names with commas (default: the first four)' },
    length: { type: 'whole', value: 'N', help: 'tokens of one copy (default 48, or what fits)' },
    batch: { type: 'whole', value: 'N', help: 'sequences (default 32)' },
    seed: { type: 'whole', value: 'N', help: 'seed of the random tokens (default 1)' },
    bos: {
      type: 'text',
      value: '[WHEN]',
      choices: ['auto', 'yes', 'no'],
      implied: 'yes',
      help: 'beginning-of-text token in front: yes, no, auto (default: as the tokenizer says)',
    },
    'ids-file': {
      type: 'text',
      value: 'F.json',
      help: 'exactly these sequences: an array of [bos?, r…, r…]',
    },
    threshold: {
      type: 'number',
      value: 'T',
      help: 'of a series: the score at which a head has appeared (default 0.5)',
    },
    text: PROMPT_OPTIONS.text,
    prompts: PROMPT_OPTIONS.prompts,
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1000],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    const settings = settingsOf(values)
    const anyText = values.text.length > 0 || values.prompts !== undefined
    await checkRead(values, anyText)
    const given = anyText ? givenPrompts({ ...values, ids: [] }, 'scan') : []
    const [
      { chooseModels, titleOf },
      { openChosen },
      { modelFacts, headline },
      { openWrites },
      report,
      ofSeries,
    ] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../model-facts.ts'),
      import('../store.ts'),
      import('../scan-report.ts'),
      import('../scan-series.ts'),
    ])
    const { several, models } = await chooseModels(positionals, values.at, place)
    const store = await openWrites(values)
    const whole = several && (await ofSeries.isWholeSeries(models))
    if (values.threshold !== undefined && !whole)
      throw new UsageError('--threshold is of a series of checkpoints, and these models are none')
    const scanned: Scanned[] = []
    const broken: BrokenMember[] = []
    try {
      for (const [i, chosen] of models.entries()) {
        const model = await openChosen(chosen, values, call).catch((error: unknown) => {
          // One that cannot be read is named, and the rest goes on; a single one has no rest.
          if (!several || !(error instanceof HeadscopeError) || isCancelled(error)) throw error
          broken.push({ at: ofSeries.atOf(chosen), path: chosen.path, error: sentence(error) })
          return null
        })
        if (!model) {
          if (!out.json) out.warn([`${titleOf(chosen, true)} is left out: ${broken.at(-1)!.error}`])
          continue
        }
        try {
          const [{ scanHeads }, { specSummary }] = await Promise.all([
            import('../../analysis/scan.ts'),
            import('../../api/spec-summary.ts'),
          ])
          const label = models.length > 1 ? `scan ${i + 1} of ${models.length}:` : 'scan'
          const prompts = encodePrompts(model, given, values.bos).map(({ ids }) => ids)
          const texts = anyText ? { prompts } : {}
          const result = await scanHeads(model, {
            ...settings,
            ...texts,
            signal,
            onProgress: call.progress(label),
          })
          await store?.writes.storeScan(model, specSummary(model.spec), result)
          const facts = await modelFacts(model, chosen)
          const warnings = [...new Set([...facts.warnings, ...result.warnings])]
          const analysed = {
            path: model.path,
            name: model.name,
            family: model.spec.family,
            contentHash: facts.model.hash,
          }
          scanned.push({ chosen, model: facts.model, analysed, result, warnings })
          if (out.json) continue
          const title = titleOf(chosen, true)
          if (several) report.scanLine(out, title, result)
          else {
            out.line(headline(model, chosen, values.at !== undefined, out.style))
            report.reportScan(out, result)
          }
          out.warn(several ? warnings.map((warning) => `${title}: ${warning}`) : warnings)
        } finally {
          await model.close()
        }
      }
      if (scanned.length === 0)
        throw new HeadscopeError(
          'bad-checkpoint',
          `None of these checkpoints can be scanned; the last one says: ${broken.at(-1)!.error}`,
        )
      const series = whole ? await ofSeries.seriesFrom(scanned, broken, values.threshold) : null
      // Given sequences and texts are no part of what the app asks of a series, so it could not be made again there.
      const asked =
        series && !anyText && values['ids-file'] === undefined ? seriesRequest(settings, values) : null
      const experiment =
        store && series && asked ? await ofSeries.keepSeries(store.writes, scanned, series, asked) : null
      if (out.json)
        out.document(several ? documentOfMany(scanned, broken, series, experiment) : documentOf(scanned[0]!))
      else {
        if (series) ofSeries.reportSeries(out, series)
        report.footnotes(out, scanned[0]!.result)
        if (store) {
          const kept = experiment === null ? '' : `; the series is experiment ${experiment}`
          out.line(out.style.dim(`Stored in ${store.path}${kept}`))
        }
      }
      return 0
    } catch (error) {
      if (!signal.aborted || scanned.length === 0) throw error
      const done = `${scanned.length} of ${models.length} models were scanned${store ? ' and are stored' : ''}`
      const rest = models.slice(scanned.length + broken.length).map(({ path }) => path)
      const { quoted } = await import('../../api/reproduce-words.ts')
      const words = ['headscope', 'scan', ...rest, ...givenOptions(values)]
      throw new Interrupted(`Cancelled; ${done}: go on with ${words.map(quoted).join(' ')}`)
    } finally {
      store?.writes.close()
    }
  },
})

// --- Internal helpers ---

/** Scores that read texts. */
const OF_TEXTS = ['all', 'prefix_matching', 'icl']

/** Refuses options that nothing of this scan would read. Throws UsageError. */
async function checkRead(
  values: {
    readonly scores: string | undefined
    readonly length: number | undefined
    readonly batch: number | undefined
    readonly seed: number | undefined
    readonly bos: string | undefined
    readonly 'ids-file': string | undefined
  },
  anyText: boolean,
): Promise<void> {
  const names = values.scores?.split(',').map((name) => name.trim()) ?? []
  if (anyText && !names.some((name) => OF_TEXTS.includes(name)))
    throw new UsageError(
      '--text and --prompts are read by the scores prefix_matching and icl only: name one in --scores, or leave the prompts out',
    )
  const idle = (['length', 'batch', 'seed', 'bos'] as const).find((name) => values[name] !== undefined)
  // Other scores draw sequences of their own, and read these options.
  const { DEFAULT_SCORES } = await import('../../analysis/types.ts')
  const alone = names.every((name) => DEFAULT_SCORES.some((one) => one === name))
  if (values['ids-file'] !== undefined && idle !== undefined && alone)
    throw new UsageError(`--ids-file holds the sequences, so no --${idle} is read: leave it out`)
}

/** The options of this scan that the rest of it needs too. */
function givenOptions(values: Readonly<Record<string, unknown>>): string[] {
  const names = [
    'scores',
    'length',
    'batch',
    'seed',
    'bos',
    'ids-file',
    'prompts',
    'store',
    'threads',
    'device',
  ]
  const texts = (values.text as readonly string[]).flatMap((text) => ['--text', text])
  const others = names.flatMap((name) =>
    values[name] === undefined ? [] : [`--${name}`, String(values[name])],
  )
  return [...others, ...texts, ...(values['no-store'] ? ['--no-store'] : [])]
}

function settingsOf(values: {
  readonly scores: string | undefined
  readonly length: number | undefined
  readonly batch: number | undefined
  readonly seed: number | undefined
  readonly bos: string | undefined
  readonly 'ids-file': string | undefined
}): ScanOptions {
  const { scores, length, batch, seed, bos, 'ids-file': file } = values
  return {
    ...(scores === undefined ? {} : { scores: scores.split(',').map((name) => name.trim()) }),
    ...(length === undefined ? {} : { length }),
    ...(batch === undefined ? {} : { batch }),
    ...(seed === undefined ? {} : { seed }),
    ...(bos === undefined || bos === 'auto' ? {} : { bos: bos === 'yes' }),
    ...(file === undefined ? {} : { sequences: sequencesIn(file) }),
  }
}

/** What the app would ask for this scan of a series. */
function seriesRequest(
  { scores, length, batch, seed, bos }: ScanOptions,
  { threshold }: { readonly threshold: number | undefined },
): Omit<SeriesRequest, 'model'> {
  return {
    ...(scores ? { scores } : {}),
    ...(length === undefined ? {} : { length }),
    ...(batch === undefined ? {} : { batch }),
    ...(seed === undefined ? {} : { seed }),
    ...(bos === undefined ? {} : { bos }),
    ...(threshold === undefined ? {} : { threshold }),
  }
}

/** An array of arrays of ids; whether they repeat is the scan's to check. */
function sequencesIn(file: string): number[][] {
  const name = basename(file)
  const rule = 'it must hold an array of arrays of token ids, [[bos?, r…, r…], …]'
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw new HeadscopeError(
      missing ? 'not-found' : 'bad-request',
      missing
        ? `${file} does not exist; name a file of sequences.`
        : `${name} cannot be read (${sentence(error)}); ${rule}.`,
    )
  }
  const fits =
    Array.isArray(value) && value.every((row) => Array.isArray(row) && row.every(Number.isSafeInteger))
  if (!fits) throw new HeadscopeError('bad-request', `${name} does not fit: ${rule}.`)
  return value as number[][]
}

function documentOf({ model, result, warnings }: Scanned) {
  const { definitions, settings } = result
  return {
    model,
    definitions,
    ...seedOf(settings),
    settings,
    loss: lossOf(result),
    heads: headsOf(result),
    ...(result.ofModel ? { model_scores: result.ofModel } : {}),
    warnings,
  }
}

function documentOfMany(
  scanned: readonly Scanned[],
  broken: readonly BrokenMember[],
  series: Series | null,
  experiment: number | null,
) {
  const { definitions, settings } = scanned[0]!.result
  return {
    models: scanned.map(({ chosen, model, result, warnings }) => ({
      at: chosen.at ?? basename(chosen.path),
      ...model,
      settings: result.settings,
      loss: lossOf(result),
      heads: headsOf(result),
      ...(result.ofModel ? { model_scores: result.ofModel } : {}),
      warnings,
    })),
    definitions,
    ...seedOf(settings),
    settings,
    ...(series ? { onsets: series.onsets, loss_drop: series.lossDrop } : {}),
    ...(experiment === null ? {} : { experiment }),
    ...(broken.length > 0 ? { broken } : {}),
    warnings: [
      ...new Set(scanned.flatMap(({ warnings }) => warnings)),
      ...broken.map(({ at, error }) => `${at} is left out: ${error}`),
    ],
  }
}

function seedOf({ seed }: ScanResult['settings']) {
  return seed === null ? { seed, why: 'the sequences were given, so no seed drew them' } : { seed }
}

function headsOf({ heads }: ScanResult) {
  return heads.map(({ layer, head, scores }) => ({ layer, head, ...scores }))
}

function lossOf({ loss }: ScanResult) {
  const missing = loss.first === null || loss.second === null
  return missing ? { ...loss, why: 'some prediction of these sequences has no finite loss' } : loss
}
