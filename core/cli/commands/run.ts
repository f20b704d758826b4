/**
 * `headscope run MODEL PROMPTS`: one forward pass over one or more prompts. Costs the forward; captures that are
 * written to a file are held in memory until then, those of the workspace stream into it block by block.
 */
import { resolve } from 'node:path'
import type { Tensor } from '../../graph/tensor.ts'
import type { PatternKeeping } from '../../run/estimate.ts'
import type { Metric } from '../../run/metrics.ts'
import type { Model } from '../../run/model.ts'
import type { Edit, Prediction, Run, RunItem, RunOptions } from '../../run/types.ts'
import { type Call, command, UsageError } from '../command.ts'
import {
  DECODER_OPTIONS,
  EDIT_OPTION,
  ENGINE_OPTIONS,
  METRIC_OPTIONS,
  MODEL_OPTIONS,
  PROMPT_OPTIONS,
  STORE_OPTIONS,
  TYPES_OPTION,
} from '../options.ts'
import { checkOut, refuseOwnFile } from '../out-file.ts'
import type { Output } from '../output.ts'
import type { Prompt } from '../prompts.ts'
import { counted, printable, table } from '../table.ts'

export const run = command({
  name: 'run',
  usage: 'MODEL PROMPTS [options]',
  summary: 'One forward pass: what the model says after every token, with captures and interventions',
  detail:
    'The workspace keeps the run as the app does (patterns, residuals, predictions); --capture without --out adds to it, and with --out writes a file.',
  examples: [
    'headscope run induction-2l --text "The cat sat. The cat"',
    'headscope run induction-2l --text "The cat sat. The cat" --capture \'*hook_pattern\' --out patterns.safetensors',
    'headscope run induction-2l --ids 0,5,9,5 --edit \'{"hook": "blocks.1.attn.hook_z", "head": 3, "op": "zero"}\'',
  ],
  options: {
    ...PROMPT_OPTIONS,
    ...DECODER_OPTIONS,
    ...TYPES_OPTION,
    ...MODEL_OPTIONS,
    capture: {
      type: 'text',
      value: 'GLOB',
      multiple: true,
      help: "hooks to capture ('*' matches anything); logits too",
    },
    out: { type: 'text', value: 'F.safetensors', help: 'write the captures, under their hook names' },
    grad: {
      type: 'text',
      value: 'GLOB',
      multiple: true,
      help: 'also ∂metric/∂hook, written by --out as grad.<hook>',
    },
    ...METRIC_OPTIONS,
    ...EDIT_OPTION,
    patterns: {
      type: 'text',
      value: 'full|summary|none',
      help: 'what the workspace keeps of patterns (default full; summary beyond 2,048 tokens)',
    },
    top: { type: 'whole', value: 'N', help: 'likeliest next tokens per position (default 5)' },
    ...STORE_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out } = call
    checkOut(values.out)
    const { top = 5 } = values
    if (top < 0) throw new UsageError(`--top is ${top}, but must be 0 or more`)
    if (values.out !== undefined && values.capture.length + values.grad.length === 0)
      throw new UsageError('--out writes captures and gradients, so say which with --capture or --grad')
    const hasMetric = [values.metric, values.answer, values.wrong, values['answer-id'], values['wrong-id']]
    if (values.grad.length === 0 && hasMetric.some((one) => one !== undefined))
      throw new UsageError('a metric is for gradients, so say of which hooks with --grad')
    const metric = values.grad.length > 0 ? (await import('../sweep-command.ts')).givenMetric(values) : null
    const [
      { chooseModel },
      { openChosen },
      { givenPrompts, encodePrompts, tokenTypesOf, viewsOf, withDecoders },
      { openWrites },
      facts,
    ] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../prompts.ts'),
      import('../store.ts'),
      import('../model-facts.ts'),
    ])
    const given = givenPrompts(values, 'run')
    const types = tokenTypesOf(values)
    const edits = values.edit.length > 0 ? (await import('../edits.ts')).parseEdits(values.edit) : []
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    await refuseOwnFile(values.out, chosen.path)
    const store = await openWrites(values)
    try {
      const model = await openChosen(chosen, values, call)
      try {
        const prompts = withDecoders(model, encodePrompts(model, given, values.bos), values)
        const kept = new Map<string, Tensor>()
        const long = await longRun(call, model, prompts, store)
        const work = {
          model,
          prompts,
          types,
          edits,
          top,
          store: store?.writes ?? null,
          kept,
          patterns: long.patterns,
        }
        if (types.tokenTypes && long.patterns === 'summary')
          throw new UsageError('summaries of patterns know no token types; keep --patterns full or none')
        const done = await compute(call, work)
        const summaries = long.patterns === 'summary' ? await summariesOf(call, work) : null
        const gradient =
          metric === null ? null : await gradientOf(call, { model, prompts, types, edits, metric, kept })
        if (values.out !== undefined) {
          const { writeCaptures } = await import('../captures-file.ts')
          writeCaptures(
            resolve(values.out),
            prompts.map(({ ids }) => ids),
            kept,
            model.spec.encoderDecoder ? prompts.map(({ decoder }) => decoder!.ids) : undefined,
            types.tokenTypes,
          )
        }
        if (out.json) {
          const { model: known, warnings } = await facts.modelFacts(model, chosen)
          out.document({
            model: known,
            items: done.run.items.map((item) => itemDocument(model, shortened(item, top), viewsOf)),
            captured: done.captured,
            ...(gradient ? { metric: gradient.metric, gradients: gradient.names } : {}),
            ...(summaries ? { summaries: summaries.map(summaryDocument) } : {}),
            ...(values.out === undefined ? {} : { out: resolve(values.out) }),
            ...(done.id === null ? {} : { run: done.id }),
            warnings: [...new Set([...warnings, ...done.run.warnings])],
          })
          return 0
        }
        out.line(facts.headline(model, chosen, values.at !== undefined, out.style))
        for (const item of done.run.items) report(out, model, shortened(item, top), viewsOf)
        const notes = [
          ...(gradient ? [`${gradient.metric.kind} is ${gradient.metric.value.toPrecision(6)}`] : []),
          ...(values.out === undefined
            ? []
            : [
                `${written(done.captured.length, gradient?.names.length ?? 0)} written to ${resolve(values.out)}`,
              ]),
          ...(store ? [`Run ${done.id} stored in ${store.path}`] : []),
          ...(summaries
            ? [
                `Patterns kept as summaries (--patterns full keeps them whole): ${summaries.map(summaryNote).join('; ')}`,
              ]
            : []),
        ]
        if (notes.length > 0) out.line()
        for (const note of notes) out.line(out.style.dim(note))
        out.warn([...new Set([...model.warnings, ...done.run.warnings])])
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

interface Work {
  readonly model: Model
  readonly prompts: readonly Prompt[]
  readonly types: Pick<RunOptions, 'tokenTypes'>
  readonly edits: readonly Edit[]
  readonly top: number
  readonly store: import('../../api/compute/workspace-writes.ts').WorkspaceWrites | null
  /** Captures for the file, filled here. */
  readonly kept: Map<string, Tensor>
  readonly patterns: PatternKeeping
}

/** Says what a long prompt will take, and refuses one that cannot fit. */
async function longRun(
  { values }: { values: { patterns: string | undefined; progress?: string | undefined } },
  model: Model,
  prompts: readonly Prompt[],
  store: { readonly path: string } | null,
) {
  const asked = values.patterns
  if (asked !== undefined && asked !== 'full' && asked !== 'summary' && asked !== 'none')
    throw new UsageError(`--patterns is ${asked}, but must be full, summary or none`)
  const { planLongRun } = await import('../../api/compute/long-run.ts')
  const plan = await planLongRun(
    model,
    prompts.map(({ ids }) => ids.length),
    asked,
    store?.path ?? null,
  )
  const { shown } = await import('../sweep-command.ts')
  if (plan.estimate && shown(values.progress)) {
    const { memoryBytes, diskBytes, seconds } = plan.estimate
    const disk = store ? `, ${(diskBytes / 1e6).toFixed(0)} MB on disk` : ''
    const memory = `${(memoryBytes / 1e9).toFixed(1)} GB of memory beside the weights`
    process.stderr.write(`about ${memory}${disk}, ${Math.ceil(seconds)} s\n`)
  }
  return plan
}

async function summariesOf(
  { signal, progress }: Pick<Call, 'signal' | 'progress'>,
  { model, prompts, store }: Work,
) {
  const { keepSummaries } = await import('../../api/compute/long-run.ts')
  const found = []
  for (const { ids } of prompts)
    found.push(await keepSummaries(model, ids, store, { signal, onProgress: progress('summaries') }))
  return found
}

type Summaries = Awaited<ReturnType<typeof summariesOf>>[number]

function summaryDocument({ heads, experiment }: Summaries) {
  return {
    experiment,
    heads: heads.map(({ layer, head, entropy, sink, byDistance }) => ({
      layer,
      head,
      entropy,
      sink,
      by_distance: byDistance,
    })),
  }
}

function summaryNote({ heads, experiment }: Summaries): string {
  const mean = (of: (head: Summaries['heads'][number]) => number) =>
    heads.reduce((sum, head) => sum + of(head), 0) / heads.length
  const kept = experiment === null ? '' : `, experiment ${experiment}`
  return `${heads.length} heads, mean entropy ${mean((head) => head.entropy).toFixed(2)} nats, ${(100 * mean((head) => head.sink)).toFixed(0)} % on the first token${kept}`
}

/** The run, its number in the workspace, and the names that --capture matched. */
async function compute(
  {
    values,
    signal,
    progress,
  }: Pick<Call, 'signal' | 'progress'> & { values: { capture: readonly string[]; out: string | undefined } },
  { model, prompts, types, edits, top, store, kept, patterns }: Work,
): Promise<{ run: Run; id: number | null; captured: readonly string[] }> {
  const { matchHooks } = await import('../../graph/hook-names.ts')
  const names = model.hooks.map((hook) => hook.name)
  const captured = model.captures(values.capture)
  const wanted = new Set(captured)
  const toFile = values.out !== undefined
  const ids = prompts.map((prompt) => prompt.ids)
  // Losses come with the likeliest tokens, so at least one of these is asked for.
  const both = model.spec.encoderDecoder ? { decoderIds: prompts.map(({ decoder }) => decoder!.ids) } : {}
  const options: RunOptions = {
    ...both,
    ...types,
    edits,
    top: Math.max(1, top),
    signal,
    onProgress: progress('run'),
  }
  const keep = (hook: string, tensor: Tensor) => {
    if (toFile && wanted.has(hook)) kept.set(hook, tensor)
  }
  if (store === null) {
    const run = await model.run(ids, { ...options, capture: captured, onCapture: keep })
    return { run, id: null, captured }
  }
  const [{ storedCaptures, provenanceOf }, { specSummary }, { viewsOf }] = await Promise.all([
    import('../../api/compute/stored-run.ts'),
    import('../../api/spec-summary.ts'),
    import('../prompts.ts'),
  ])
  const spec = specSummary(model.spec)
  const usual = storedCaptures(spec, model.hooks).filter(
    (glob) => patterns === 'full' || !glob.includes('pattern'),
  )
  const stored = toFile ? usual : [...usual, ...captured]
  const isStored = new Set(matchHooks(stored, names))
  const plan = {
    provenance: provenanceOf(model, stored, edits, types.tokenTypes),
    spec,
    items: prompts.map(({ ids, text, decoder }) => {
      const own = { ids, text, tokens: viewsOf(model, ids) }
      if (!decoder) return own
      return { ids: decoder.ids, text: decoder.text, tokens: viewsOf(model, decoder.ids), source: own }
    }),
  }
  let run: Run | null = null
  const id = await store.storeRun(model, plan, async (write) => {
    run = await model.run(ids, {
      ...options,
      capture: [...stored, ...captured],
      openRun: store.openRun,
      async onCapture(hook, tensor) {
        keep(hook, tensor)
        if (isStored.has(hook)) await write(hook, tensor)
      },
    })
    return run
  })
  return { run: run!, id, captured }
}

function written(captures: number, gradients: number): string {
  const parts = [
    ...(captures > 0 ? [counted(captures, 'capture')] : []),
    ...(gradients > 0 ? [counted(gradients, 'gradient')] : []),
  ]
  return parts.join(' and ')
}

/** ∂metric/∂hooks, put beside the captures as grad.<hook> where a file is written. */
async function gradientOf(
  { values, signal }: Pick<Call, 'signal'> & { values: { grad: readonly string[]; out: string | undefined } },
  {
    model,
    prompts,
    types,
    edits,
    metric,
    kept,
  }: Omit<Work, 'top' | 'store' | 'patterns'> & { readonly metric: Metric },
) {
  const { gradients } = await import('../../run/gradients-of.ts')
  const own = prompts.map(({ decoder }) => decoder?.ids)
  const decoderIds = own.every((ids) => ids !== undefined) ? { decoderIds: own } : {}
  const found = await gradients(
    model,
    prompts.map(({ ids }) => ids),
    { metric, hooks: values.grad, edits, signal, ...decoderIds, ...types },
  )
  if (values.out !== undefined) for (const [name, tensor] of found.grads) kept.set(`grad.${name}`, tensor)
  const names = model.hooks.map((hook) => hook.name).filter((name) => found.grads.has(name))
  return { metric: found.metric, names }
}

/** With at most `top` likely tokens per position. */
function shortened(item: RunItem, top: number): RunItem {
  return { ...item, positions: item.positions.map((one) => ({ ...one, top: one.top.slice(0, top) })) }
}

type Views = typeof import('../prompts.ts').viewsOf

function itemDocument(model: Model, { ids, source, loss, positions }: RunItem, viewsOf: Views) {
  const tokens = viewsOf(model, ids).map((view) => view.text)
  return {
    ids,
    tokens,
    ...(source ? { source: { ids: source, tokens: viewsOf(model, source).map((view) => view.text) } } : {}),
    ...withWhy(
      'loss',
      loss,
      ids.length < 2
        ? 'one token predicts no other'
        : looksAhead(model)
          ? PREDICTS_NONE
          : 'some loss is not a finite number',
    ),
    positions: positions.map(({ top, loss: own }, pos) => ({
      pos,
      token: tokens[pos]!,
      ...withWhy('loss', own, whyNoLoss(model, pos === ids.length - 1)),
      top: top.map(({ id, logit, prob }) => ({
        id,
        token: viewsOf(model, [id])[0]!.text,
        logit,
        ...withWhy('prob', prob, 'some logit of this position is not a finite number'),
      })),
    })),
  }
}

const PREDICTS_NONE = 'this model sees the whole text, so it predicts no next token'

/** Of an ONNX file only its graph knows, and files that predict are what opens. */
function looksAhead({ spec }: Model): boolean {
  return spec.stacks.at(-1)?.causal === false
}

function whyNoLoss(model: Model, last: boolean): string {
  if (last) return 'nothing follows'
  return looksAhead(model) ? PREDICTS_NONE : 'it is not a finite number'
}

function withWhy(name: string, value: number | null, why: string) {
  return value === null ? { [name]: null, why } : { [name]: value }
}

function report(out: Output, model: Model, { ids, loss, positions }: RunItem, viewsOf: Views): void {
  const { style } = out
  const views = viewsOf(model, ids)
  const width = Math.max(0, ...positions.map(({ top }) => top.length))
  const columns = [
    { title: 'pos', right: true },
    { title: 'token' },
    { title: 'loss of next', right: true },
    ...Array.from({ length: width }, (_, i) => ({ title: i === 0 ? 'likeliest next' : '' })),
  ]
  const rows = positions.map((position, pos) => [
    { text: String(pos), paint: style.dim },
    printable(views[pos]!.text),
    position.loss === null ? '' : position.loss.toFixed(2),
    ...position.top.map((one) => nextToken(out, viewsOf(model, [one.id])[0]!.text, one)),
  ])
  out.line()
  for (const line of table(columns, rows, style.bold)) out.line(line)
  out.line(
    style.dim(
      loss === null
        ? `no loss${looksAhead(model) ? `: ${PREDICTS_NONE}` : ''}`
        : `mean loss ${loss.toFixed(3)} nats over ${ids.length - 1} predictions`,
    ),
  )
}

function nextToken({ style }: Output, word: string, { prob, logit }: Prediction['top'][number]) {
  const text = `${printable(word)} ${prob === null ? `logit ${logit.toFixed(1)}` : prob.toFixed(2)}`
  return { text, paint: (padded: string) => style.weight(padded, prob ?? 0.1) }
}
