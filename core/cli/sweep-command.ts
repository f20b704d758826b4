/**
 * What ablate, patch, path and attribute share: their prompts and metric from options, the run with its store, and
 * what Ctrl-C leaves. In: a call and how its options make a request. Out: an exit code.
 */
import type { ExperimentKind, Experiments, PromptInput } from '../api/contract.ts'
import { quoted } from '../api/reproduce-words.ts'
import type { SweepEstimate } from '../intervene/types.ts'
import type { Metric } from '../run/metrics.ts'
import { type Call, Interrupted, UsageError } from './command.ts'
import type { StoreValues } from './store.ts'
import { bytes } from './table.ts'

export interface SweepValues extends StoreValues {
  readonly at: string | undefined
  readonly threads: number | undefined
  readonly device: string | undefined
  readonly resume: number | undefined
  readonly progress?: string | undefined
}

/** An estimate shorter than this, in seconds, is not worth a line. */
const LONG = 5

/** Runs a sweep from its options. Throws Interrupted with the way to go on. */
export async function runSweepCommand<K extends ExperimentKind>(
  { values, positionals, place, out, signal, progress }: Omit<Call, 'values'> & { values: SweepValues },
  kind: K,
  build: (model: string) => Promise<Experiments[K]['request']>,
): Promise<number> {
  const [
    { chooseModel },
    { openChosen },
    { openWrites },
    facts,
    { viewsOf },
    { runExperiment },
    { engineParts },
    report,
  ] = await Promise.all([
    import('./models.ts'),
    import('./runtime.ts'),
    import('./store.ts'),
    import('./model-facts.ts'),
    import('./prompts.ts'),
    import('../api/compute/experiments.ts'),
    import('./sweep-engine.ts'),
    import('./sweep-report.ts'),
  ])
  if (values.resume !== undefined && values.resume < 1)
    throw new UsageError(`--resume is ${values.resume}, but is the number of an experiment`)
  const chosen = await chooseModel(positionals[0]!, values.at, place)
  const given =
    values.resume === undefined
      ? await build(chosen.path)
      : ({ model: chosen.path, resume: values.resume } as Experiments[K]['request'])
  const store = await openWrites(values)
  let begun: { id: number | null; cells: number } | null = null
  const done = new Set<string>()
  try {
    const model = await openChosen(chosen, values, { signal, progress })
    try {
      const { engine, keyOf, decoderOwn } = engineParts
      const finished = await runExperiment(engine, model, kind, given, store?.writes ?? null, {
        signal,
        onProgress: progress(kind),
        onBegun(id, estimate) {
          begun = { id, cells: estimate?.cells ?? 0 }
          if (shown(values.progress)) announce(estimate)
        },
        onCells: (cells) => {
          for (const cell of cells) done.add(keyOf(kind, cell))
        },
        encode: ({ text, ids, bos }) => (ids ? [...ids] : model.encode(text ?? '', bos ? { bos } : {})),
        own: (prompt) => decoderOwn(model, prompt),
        view: (ids) => viewsOf(model, ids),
        keyOf,
      })
      const { model: known, warnings } = await facts.modelFacts(model, chosen)
      const all = [...new Set([...unread(values), ...warnings, ...finished.result.warnings])]
      if (out.json) {
        out.document({
          model: known,
          ...report.sweepFields(kind, finished.result),
          ...(finished.id === null ? {} : { experiment: finished.id }),
          warnings: all,
        })
        return 0
      }
      out.line(facts.headline(model, chosen, values.at !== undefined, out.style))
      report.reportSweep(out, kind, finished.result, finished.prompts)
      if (store) out.line(out.style.dim(`Experiment ${finished.id} stored in ${store.path}`))
      out.warn(all)
      return 0
    } finally {
      await model.close()
    }
  } catch (error) {
    const left = begun as { id: number | null; cells: number } | null
    if (!signal.aborted || !left) throw error
    const of = left.cells > 0 ? `${done.size} of ${left.cells} cells` : `${done.size} cells`
    if (left.id === null) throw new Interrupted(`Cancelled after ${of}; without a store nothing is kept.`)
    const where = [
      ...(values.at === undefined ? [] : ['--at', values.at]),
      ...(values.store === undefined ? [] : ['--store', values.store]),
    ]
    const words = ['headscope', kind, positionals[0]!, '--resume', String(left.id), ...where]
    throw new Interrupted(`Cancelled; ${of} are stored: go on with ${words.map(quoted).join(' ')}`)
  } finally {
    store?.writes.close()
  }
}

/** The metric: --metric as JSON, or logit_diff of an answer and a wrong answer. */
export function givenMetric(values: {
  readonly metric: string | undefined
  readonly answer: string | undefined
  readonly wrong: string | undefined
  readonly 'answer-id': number | undefined
  readonly 'wrong-id': number | undefined
}): Metric {
  for (const side of ['answer', 'wrong'] as const)
    if (values[side] !== undefined && values[`${side}-id`] !== undefined)
      throw new UsageError(`--${side} and --${side}-id exclude each other`)
  const answer = values['answer-id'] ?? values.answer
  const wrong = values['wrong-id'] ?? values.wrong
  if (values.metric !== undefined) {
    if (answer !== undefined || wrong !== undefined)
      throw new UsageError('--metric names its own answer and wrong answer; give it, or --answer and --wrong')
    return parsedMetric(values.metric)
  }
  if (answer === undefined || wrong === undefined)
    throw new UsageError(
      'a metric is needed: --answer and --wrong (texts) or --answer-id and --wrong-id, or --metric \'{"kind": "loss"}\'',
    )
  return { kind: 'logit_diff', answer, wrong }
}

interface PromptValues {
  readonly text: readonly string[]
  readonly ids: readonly string[]
  readonly prompts: string | undefined
  readonly bos: string | undefined
}

/** The one prompt of a sweep. */
export async function onePrompt(values: PromptValues, name: string): Promise<PromptInput> {
  const all = await inputs(values, name)
  if (all.length > 1) throw new UsageError(`${name} takes one prompt, but got ${all.length}`)
  return all[0]!
}

/** The decoder's own text of a sweep's prompt. Throws UsageError where there are several. */
export async function decoderInput(values: {
  readonly 'decoder-text': readonly string[]
  readonly 'decoder-ids': readonly string[]
}): Promise<Pick<PromptInput, 'decoder'>> {
  const { 'decoder-text': texts, 'decoder-ids': lists } = values
  if (texts.length + lists.length > 1)
    throw new UsageError('give one decoder text, or one list of decoder ids')
  if (texts[0] !== undefined) return { decoder: { text: texts[0] } }
  if (lists[0] === undefined) return {}
  const { idList } = await import('./prompts.ts')
  return { decoder: { ids: idList(lists[0], '--decoder-ids') } }
}

type Sided<T extends string> = {
  readonly [K in `${T}${'' | '-ids' | '-decoder' | '-decoder-ids'}`]: string | undefined
}

/**
 * The clean and the corrupt prompt. Where a decoder reads an encoder each is two texts, and of the corrupt one's what is
 * not given is the clean one's. Throws UsageError.
 */
export async function givenPair(
  values: Sided<'clean'> & Sided<'corrupt'> & { readonly bos: string | undefined },
  name: string,
): Promise<{ clean: PromptInput; corrupt: PromptInput }> {
  const decoderOf = (side: 'clean' | 'corrupt') =>
    decoderInput({
      'decoder-text': list(values[`${side}-decoder`]),
      'decoder-ids': list(values[`${side}-decoder-ids`]),
    })
  const one = async (side: 'clean' | 'corrupt') => {
    const [text, ids] = [values[side], values[`${side}-ids`]]
    if ((text === undefined) === (ids === undefined))
      throw new UsageError(`${name} needs --${side} "…" or --${side}-ids 5,9,2, one of the two`)
    const prompt = { text: list(text), ids: list(ids), prompts: undefined, bos: values.bos }
    return (await inputs(prompt, name))[0]!
  }
  const [own, other] = [await decoderOf('clean'), await decoderOf('corrupt')]
  const clean = await one('clean')
  const shared = other.decoder && values.corrupt === undefined && values['corrupt-ids'] === undefined
  const corrupt = shared ? clean : await one('corrupt')
  return { clean: { ...clean, ...own }, corrupt: { ...corrupt, ...own, ...other } }
}

/** Reference prompts from a file, texts and ids. */
export async function references(values: {
  readonly reference: string | undefined
  readonly 'reference-text': readonly string[]
  readonly 'reference-ids': readonly string[]
  readonly bos: string | undefined
}): Promise<{ reference?: readonly PromptInput[] }> {
  const { reference, 'reference-text': text, 'reference-ids': ids, bos } = values
  if (reference === undefined && text.length === 0 && ids.length === 0) return {}
  return { reference: await inputs({ text, ids, prompts: reference, bos }, 'a reference') }
}

// --- Internal helpers ---

/** Options that go with --resume; every other belongs to what is stored. */
const BESIDE_RESUME = ['at', 'threads', 'device', 'resume', 'store', 'no-store', 'json', 'progress', 'help']

/** Says which options a resumed sweep did not read. */
function unread(values: SweepValues): string[] {
  if (values.resume === undefined) return []
  const given = Object.entries(values).filter(
    ([name, value]) =>
      !BESIDE_RESUME.includes(name) &&
      value !== undefined &&
      value !== false &&
      !(Array.isArray(value) && value.length === 0),
  )
  if (given.length === 0) return []
  const names = given.map(([name]) => `--${name}`).join(', ')
  return [
    `--resume goes on with the prompts and settings that are stored, so ${names} ${given.length === 1 ? 'was' : 'were'} not read.`,
  ]
}

function list(value: string | undefined): string[] {
  return value === undefined ? [] : [value]
}

async function inputs(values: PromptValues, name: string): Promise<PromptInput[]> {
  const { givenPrompts } = await import('./prompts.ts')
  const bos = values.bos as 'auto' | 'yes' | 'no' | undefined
  return givenPrompts(values, name).map((one) =>
    'ids' in one ? { ids: one.ids } : { text: one.text, ...(bos === undefined ? {} : { bos }) },
  )
}

const METRIC_FIELDS = ['kind', 'item', 'pos', 'answer', 'wrong']
/** Fields that a kind of metric does not read. */
const IDLE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  logit: ['wrong'],
  logprob: ['wrong'],
  prob: ['wrong'],
  loss: ['answer', 'wrong'],
  kl: ['answer', 'wrong'],
}

/** What the metric means is checked against the prompt later; here only its form. */
function parsedMetric(text: string): Metric {
  const rule = 'write it as {"kind": "logit_diff", "answer": 5, "wrong": 9}'
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new UsageError(`--metric is not JSON: ${rule}`)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`--metric is no object: ${rule}`)
  const fields: Record<string, unknown> = { ...value }
  const odd = Object.keys(fields).find((name) => !METRIC_FIELDS.includes(name))
  if (odd !== undefined)
    throw new UsageError(
      `--metric has no field ${JSON.stringify(odd)}; its fields are ${METRIC_FIELDS.join(', ')}`,
    )
  if (fields.kind === undefined) throw new UsageError(`--metric has no "kind": ${rule}`)
  const idle = IDLE_FIELDS[String(fields.kind)]?.find((name) => fields[name] !== undefined)
  if (idle !== undefined)
    throw new UsageError(`--metric of the kind ${fields.kind} reads no "${idle}": leave it out`)
  const wrongly = (name: string, fits: boolean, what: string) => {
    if (fields[name] !== undefined && !fits) throw new UsageError(`"${name}" of --metric must be ${what}`)
  }
  for (const name of ['item', 'pos']) wrongly(name, Number.isInteger(fields[name]), 'a whole number')
  for (const name of ['answer', 'wrong'])
    wrongly(name, ['number', 'string'].includes(typeof fields[name]), 'a token id or a text')
  return fields as unknown as Metric
}

/** Said where progress is shown: a script's stderr stays empty. */
export function shown(when: string | undefined): boolean {
  return when === 'always' || (when !== 'never' && process.stderr.isTTY)
}

function announce(estimate: SweepEstimate | null): void {
  if (!estimate || estimate.seconds === null || estimate.seconds < LONG) return
  const time =
    estimate.seconds < 90 ? `${Math.ceil(estimate.seconds)} s` : `${Math.ceil(estimate.seconds / 60)} min`
  process.stderr.write(
    `${estimate.cells} cells, about ${time}; ${bytes(estimate.baseBytes)} kept for restarts\n`,
  )
}
