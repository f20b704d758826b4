/**
 * What happens when a checkpoint is opened or a prompt is run: the steps behind the first start, the library, the open
 * dialog and the prompt editor. Each ends in a selection; problems are thrown to whoever asked, and long work is a job.
 */
import type { HeadScores } from '../../core/analysis/types.ts'
import type {
  EditStackSummary,
  ExperimentDetail,
  ExperimentSummary,
  OpenedModel,
  PromptInput,
  RunDetail,
  StoredPrompt,
  StoredRun,
} from '../../core/api/contract.ts'
import { api } from '../api/client.ts'
import { keepViewed } from '../api/edited-run.ts'
import { runPrompt, scanModel } from '../api/jobs.ts'
import { queryClient } from '../api/query-client.ts'
import type { ActiveEdit } from './edits.ts'
import { type HeadId, hasHead } from './head-name.ts'
import { formatToken, metricPosition } from './metric.ts'
import { promptAgain, readingOf } from './prompt-again.ts'
import { rankHeads } from './rank.ts'
import { getSelection, select } from './store.ts'
import { whyUnscored } from './why-unscored.ts'

/** Above this many parameters a scan takes longer than a person wants to wait unasked. */
const SCAN_UNASKED = 60_000_000

/** Opens a checkpoint, scores it (unless it is large), and runs a prompt on it. */
export async function openCheckpoint(path: string, prompt?: PromptInput): Promise<void> {
  const model = await api.openModel(path)
  queryClient.setQueryData(['model', model.path], model)
  const sameShape = fits(getSelection().head, model)
  select({
    model: model.path,
    run: null,
    query: null,
    key: null,
    also: [],
    head: sameShape,
    edits: fittingEdits(getSelection().edits, model),
  })
  void queryClient.invalidateQueries({ queryKey: ['library'] })
  const [heads] = await Promise.all([scoreHeads(model), prompt && runOn(model, prompt)])
  if (getSelection().model === model.path && getSelection().head === null && heads) {
    select({ head: strongest(heads, getSelection().score) }, { replace: true })
  }
}

/** Opens a checkpoint and runs the prompt of a run on it, read in the same way. */
export async function openWithPrompt(path: string, run?: RunDetail | null): Promise<void> {
  await openCheckpoint(path, run ? await promptAgain(run) : undefined)
}

/** Runs a prompt of the library once more, read as it was; on another tokenizer its text as that one reads it. */
export async function runStored(model: OpenedModel, { text, ids, decoder }: StoredPrompt): Promise<void> {
  const own = decoder
    ? { decoder: decoder.text === null ? { ids: decoder.ids } : { text: decoder.text } }
    : {}
  const read = text === null ? { ids } : ((await readingOf(model.path, text, ids)) ?? { text })
  await runOn(model, { ...read, ...own })
}

/** Moves to another member of a series with the same prompt, in one step: what is shown stays until the next is there. */
export async function showMember(path: string, prompt: PromptInput | null): Promise<void> {
  const model = await api.openModel(path)
  queryClient.setQueryData(['model', model.path], model)
  const run = prompt && (await runFor(model, prompt))
  if (run !== null) await queryClient.prefetchQuery({ queryKey: ['run', run], queryFn: () => api.run(run) })
  const now = getSelection()
  select(
    { model: model.path, run, head: fits(now.head, model), edits: fittingEdits(now.edits, model) },
    { replace: true },
  )
}

/** Opens a checkpoint, scores it and runs a prompt, without showing any of it yet. */
export async function openState(
  path: string,
  prompt: PromptInput,
): Promise<{ model: OpenedModel; run: number; heads: readonly HeadScores[] | null }> {
  const model = await api.openModel(path)
  queryClient.setQueryData(['model', model.path], model)
  const ran = runFor(model, prompt).then(async (run) => {
    await queryClient.prefetchQuery({ queryKey: ['run', run], queryFn: () => api.run(run) })
    return run
  })
  const [heads, run] = await Promise.all([scoreHeads(model), ran])
  return { model, run, heads }
}

/** Runs a prompt on the selected checkpoint, or shows the stored run of exactly this prompt. */
export async function runOn(model: OpenedModel, prompt: PromptInput): Promise<void> {
  const run = await runFor(model, prompt)
  if (getSelection().model === model.path) select({ run, query: null, key: null, also: [] })
}

/** Shows a stored run: its checkpoint is opened too. */
export async function openRun(run: StoredRun): Promise<void> {
  const now = getSelection()
  keepViewed(run)
  if (now.model === run.model) return select({ run: run.id, query: null, key: null, also: [] })
  const model = await api.openModel(run.model)
  queryClient.setQueryData(['model', model.path], model)
  select({
    model: model.path,
    run: run.id,
    query: null,
    key: null,
    also: [],
    head: fits(now.head, model),
    edits: fittingEdits(now.edits, model),
  })
  const heads = await scoreHeads(model)
  if (getSelection().head === null && heads) select({ head: strongest(heads, now.score) }, { replace: true })
}

/** Shows a stored sweep: its checkpoint, its prompt, its tab. */
export async function openExperiment(summary: ExperimentSummary): Promise<void> {
  const detail = await api.experiment(summary.id)
  const { request, kind } = detail
  if (getSelection().model !== summary.model) await openCheckpoint(summary.model)
  const model = await api.openModel(summary.model)
  const prompt = 'prompt' in request ? request.prompt : request.clean
  await runOn(model, prompt)
  const [answer, wrong] = await Promise.all([
    chosenToken(model, request.metric.answer, detail),
    chosenToken(model, request.metric.wrong, detail),
  ])
  const pos = metricPosition(request.metric, detail.prompts[0]?.length ?? 0)
  const settings = {
    ...getSelection().tool,
    metric: request.metric.kind === 'logit_diff' ? '' : request.metric.kind,
    answer,
    wrong,
    at: pos === null ? '' : 'locked',
    ...settingsOf(detail),
  }
  // An empty setting is the one that a tab has unasked.
  const tool = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== ''))
  select({ tab: SWEEP_TABS[kind], query: pos, tool })
}

/** Shows a kept stack of edits on the prompt that it was kept with: it acts on whatever is run next, too. */
export async function openEditStack({ id }: EditStackSummary): Promise<void> {
  const { model, request } = await api.editStack(id)
  if (getSelection().model !== model) await openCheckpoint(model)
  await runOn(await api.openModel(model), request.prompt)
  select({ edits: request.edits, tab: 'pattern', compare: 'both' })
}

/** A token of a stored metric as the fields keep it; one that is a text keeps that text. Empty: none. */
async function chosenToken(
  model: OpenedModel,
  given: number | string | undefined,
  { prompts }: ExperimentDetail,
): Promise<string> {
  if (given === undefined) return ''
  if (typeof given === 'number') {
    const [known] = (await api.tokenize({ model: model.path, ids: [given] })).tokens
    return formatToken(known ?? prompts.flat().find((view) => view.id === given) ?? { id: given, text: '' })
  }
  const { tokens } = await api.tokenize({ model: model.path, text: given, bos: 'no' })
  return tokens.length === 1 ? formatToken({ id: tokens[0]!.id, text: given }) : ''
}

/** The tab of each kind of sweep. */
export const SWEEP_TABS = {
  ablate: 'ablation',
  patch: 'patching',
  path: 'paths',
  attribute: 'patching',
} as const

/** What the tab of a stored sweep has to be set to, so that it shows it: the corrupt prompt, and what was swept. */
function settingsOf({ id, kind, request, prompts }: ExperimentDetail): Record<string, string> {
  if (kind === 'ablate') return { ablation: String(id) }
  const other = 'corrupt' in request ? request.corrupt : null
  const ids = prompts[1]?.map((view) => view.id) ?? []
  const written = (list: readonly number[] = []) => (list.length > 0 ? `[${list.join(', ')}]` : '')
  // Of an encoder–decoder the corrupt prompt is two texts; an encoder's that both prompts share is not written again.
  const same = other && 'clean' in request && sameSource(other, request.clean)
  const source = other?.decoder && !same ? (other.text ?? written(other.ids)) : ''
  const own = other?.decoder ? (other.decoder.text ?? written(ids)) : (other?.text ?? written(ids))
  const texts = { corrupt: own, corruptsource: source }
  if (kind !== 'path') return { ...texts, [kind]: String(id) }
  return {
    ...texts,
    path: String(id),
    mlps: request.mlps === 'freeze' ? 'freeze' : '',
    edges: request.edges?.map(({ from, to }) => `${from}:${to}`).join(',') ?? '',
    to: request.to?.[0] ?? 'logits',
  }
}

function sameSource({ decoder: _, ...one }: PromptInput, { decoder: _own, ...other }: PromptInput): boolean {
  return one.ids && other.ids ? one.ids.join() === other.ids.join() : one.text === other.text
}

/** Scores every head now, whatever it costs; the result replaces the scan that is shown. */
export async function scanNow(model: OpenedModel): Promise<readonly HeadScores[]> {
  const reply = await scanModel({ model: model.path }, model.name)
  queryClient.setQueryData(['scan', model.path], reply)
  return reply.heads
}

/** An empty address: the bundled checkpoint, its scores, and a prompt with a repeat. */
export async function firstStart(): Promise<void> {
  const about = await queryClient.fetchQuery({ queryKey: ['about'], queryFn: api.about })
  if (about.start && getSelection().model === null) {
    await openCheckpoint(about.start.model, { text: about.start.prompt })
  }
}

// --- Internal helpers ---

async function scoreHeads(model: OpenedModel): Promise<readonly HeadScores[] | null> {
  if (whyUnscored(model.spec)) return null
  const stored = await queryClient.fetchQuery({
    queryKey: ['scan', model.path],
    queryFn: () => api.scan(model.path),
  })
  if (stored) return stored.heads
  return model.parameters <= SCAN_UNASKED ? scanNow(model) : null
}

/** A prompt of two texts on a model that reads one is the encoder's. */
async function runFor(model: OpenedModel, { decoder, ...given }: PromptInput): Promise<number> {
  const prompt = decoder && model.spec.encoder ? { ...given, decoder } : given
  const known = await storedRun(model, prompt)
  if (known !== null) return known
  const { run } = await runPrompt({ model: model.path, prompt })
  void queryClient.invalidateQueries({ queryKey: ['library'] })
  return run
}

async function storedRun(model: OpenedModel, prompt: PromptInput): Promise<number | null> {
  const { text, bos = 'auto', specials, decoder } = prompt
  const own = decoder && (await decoderIds(model, decoder))
  if (prompt.ids) return own ? runOfIds(model, own, prompt.ids) : runOfIds(model, prompt.ids)
  if (text === undefined) return null
  const library = await queryClient.fetchQuery({ queryKey: ['library'], queryFn: api.library })
  if (!library.runs.some((run) => run.model === model.path && run.text === text)) return null
  // The same text may have been read in another way: compare the ids.
  const asked = { model: model.path, text, bos, ...(specials ? { specials } : {}) }
  const { tokens } = await api.tokenize(asked)
  const ids = tokens.map((token) => token.id)
  return own ? runOfIds(model, own, ids, text) : runOfIds(model, ids, undefined, text)
}

/** A decoder's own ids, start token included. */
async function decoderIds(
  model: OpenedModel,
  { ids, text = '' }: NonNullable<PromptInput['decoder']>,
): Promise<readonly number[]> {
  if (ids) return ids
  const { tokens } = await api.tokenize({ model: model.path, text, bos: 'auto', decoder: true })
  return tokens.map((token) => token.id)
}

/** A stored run of exactly these ids, so that a sweep that is opened again shows the text that it was made on. */
async function runOfIds(
  model: OpenedModel,
  ids: readonly number[],
  source?: readonly number[],
  text?: string,
): Promise<number | null> {
  const library = await queryClient.fetchQuery({ queryKey: ['library'], queryFn: api.library })
  const like = library.runs.filter(
    (run) =>
      run.model === model.path &&
      run.tokens === ids.length &&
      run.edits === 0 &&
      run.captures &&
      (text === undefined || run.text === text),
  )
  for (const { id } of like) {
    const run = await queryClient.fetchQuery({ queryKey: ['run', id], queryFn: () => api.run(id) })
    const read = run.source?.map((view) => view.id).join()
    if (read === source?.join() && run.views.every((view, i) => view.id === ids[i])) return id
  }
  return null
}

function strongest(heads: readonly HeadScores[], score: string): HeadId | null {
  const first = rankHeads(heads, score)[0]
  return first ? { layer: first.layer, head: first.head } : null
}

function fits(head: HeadId | null, model: OpenedModel): HeadId | null {
  return head && hasHead(model.spec, head) ? head : null
}

/** Edits of a place that this checkpoint does not have stay in the stack, but off. */
function fittingEdits(edits: readonly ActiveEdit[], model: OpenedModel): readonly ActiveEdit[] {
  const hooks = new Set(model.hooks.map(({ name }) => name))
  const heads = model.spec.n_heads
  const suits = ({ edit }: ActiveEdit) =>
    (edit.hook.includes('*') || hooks.has(edit.hook)) &&
    !(typeof edit.head === 'number' && edit.head >= heads)
  return edits.every((active) => suits(active) || !active.on)
    ? edits
    : edits.map((active) => (suits(active) ? active : { ...active, on: false }))
}
