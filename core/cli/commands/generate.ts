/**
 * `headscope generate MODEL PROMPTS`: continues each prompt token by token on the key/value cache. Costs one row
 * through every block per token, and one uncached pass at the end that checks the cache.
 */
import { resolve } from 'node:path'
import type { Tensor } from '../../graph/tensor.ts'
import type { Generated } from '../../run/generate.ts'
import type { Model } from '../../run/model.ts'
import { command, UsageError } from '../command.ts'
import { DECODER_OPTIONS, EDIT_OPTION, ENGINE_OPTIONS, MODEL_OPTIONS, PROMPT_OPTIONS } from '../options.ts'
import { checkOut, refuseOwnFile } from '../out-file.ts'
import type { StoreValues } from '../store.ts'
import { printable } from '../table.ts'

export const generate = command({
  name: 'generate',
  usage: 'MODEL PROMPTS [options]',
  summary: 'Continues prompts token by token on a key/value cache, which an uncached pass then checks',
  detail: 'Greedy unless --temperature is above 0. Ends at the end-of-text token of the checkpoint.',
  examples: [
    'headscope generate induction-2l --text "The queen Zorblat spoke. The queen Zor" --max 8',
    'headscope generate ./my-chat-model --chat --text "Which city is the capital of France?"',
    'headscope generate ./my-model --text "Once" --temperature 0.8 --top-p 0.95 --seed 3',
  ],
  options: {
    ...PROMPT_OPTIONS,
    ...DECODER_OPTIONS,
    ...MODEL_OPTIONS,
    max: { type: 'whole', value: 'N', help: 'at most so many new tokens (default 50)' },
    temperature: { type: 'number', value: 'T', help: '0 is greedy (default)' },
    'top-k': { type: 'whole', value: 'K', help: 'draw from the K likeliest only (0: all)' },
    'top-p': {
      type: 'number',
      value: 'P',
      help: 'draw from the fewest whose probabilities reach P (1: all)',
    },
    seed: { type: 'whole', value: 'N', help: 'seed of the draws (default 0)' },
    chat: { type: 'flag', help: 'each text is what a person says in the chat template of the checkpoint' },
    'ignore-eos': { type: 'flag', help: 'go on after an end-of-text token' },
    capture: {
      type: 'text',
      value: 'GLOB',
      multiple: true,
      help: 'hooks to capture at prompt and new tokens',
    },
    out: { type: 'text', value: 'F.safetensors', help: 'write the captures, under their hook names' },
    ...EDIT_OPTION,
    store: {
      type: 'text',
      value: 'FILE',
      help: 'workspace that edits {"from": {"run": N}} read (default: the user’s)',
    },
    'no-store': { type: 'flag', help: 'read no workspace' },
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    checkOut(values.out)
    if ((values.out === undefined) !== (values.capture.length === 0))
      throw new UsageError(
        '--capture and --out go together: which hooks, and the file that they are written to',
      )
    if (values.chat && values.bos !== undefined)
      throw new UsageError('--bos and --chat exclude each other: a chat template says what stands in front')
    const [
      { chooseModel },
      { openChosen },
      { givenPrompts, encodePrompts, withDecoders, wordOf },
      { modelFacts, headline },
    ] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../prompts.ts'),
      import('../model-facts.ts'),
    ])
    const given = givenPrompts(values, 'generate')
    const edits = values.edit.length > 0 ? (await import('../edits.ts')).parseEdits(values.edit) : []
    const reader = edits.some(({ from }) => from && 'run' in from) ? await openReader(values) : null
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    await refuseOwnFile(values.out, chosen.path)
    const model = await openChosen(chosen, values, call)
    try {
      const { cacheCheck } = await import('../cached.ts')
      const prompts = withDecoders(model, encodePrompts(model, given, values.bos, values.chat), values)
      const seed = values.seed ?? 0
      const options = { edits, signal, ...(reader ? { openRun: reader.openRun } : {}) }
      const items: object[] = []
      const captured: Map<string, Tensor>[] = []
      const warnings = new Set([...unreadSampling(values), ...model.warnings])
      const sequences: number[][] = []
      const sources: (readonly number[])[] = []
      for (const [index, prompt] of prompts.entries()) {
        const steps = new Map<string, Tensor[]>()
        const made = await model.generate(prompt.ids, {
          ...options,
          ...(prompt.decoder ? { decoderIds: prompt.decoder.ids } : {}),
          ...samplingOf(values),
          seed,
          stopAt: values['ignore-eos'] ? [] : model.checkpoint.eosIds,
          capture: values.capture,
          onCapture: (hook, tensor) => void steps.set(hook, [...(steps.get(hook) ?? []), tensor]),
          onProgress: call.progress(
            prompts.length > 1 ? `prompt ${index + 1} of ${prompts.length}:` : 'generate',
          ),
        })
        for (const warning of made.warnings) warnings.add(warning)
        const check = await cacheCheck(model, made, edits, options)
        const text = continuation(model, made, wordOf)
        if (values.capture.length > 0) {
          captured.push(await join(model, steps))
          sequences.push([...made.promptIds, ...made.ids].slice(0, -1)) // the last new token was never fed
          if (made.sourceIds) sources.push(made.sourceIds)
        }
        items.push({
          prompt_ids: made.promptIds,
          ...(made.sourceIds ? { source_ids: made.sourceIds } : {}),
          ids: made.ids,
          text,
          log_probs: made.logProbs,
          stopped: made.stopped,
          cache_bytes: made.cacheBytes,
          ...check,
        })
        if (!out.json) {
          if (index === 0) out.line(headline(model, chosen, values.at !== undefined, out.style))
          out.line()
          out.line(out.style.dim(printable(textOf(model, prompt.ids, wordOf))))
          out.line(`${out.style.dim('→')} ${out.style.bold(printable(text))}`)
          out.line(out.style.dim(summary(made, check)))
        }
      }
      if (values.out !== undefined) await write(resolve(values.out), sequences, sources, captured)
      if (!out.json) {
        if (values.out !== undefined) out.line(out.style.dim(`Captures written to ${resolve(values.out)}`))
        out.warn([...warnings])
        return 0
      }
      const facts = await modelFacts(model, chosen)
      out.document({
        model: facts.model,
        seed,
        items,
        ...(values.out === undefined ? {} : { captured: [...captured[0]!.keys()], out: resolve(values.out) }),
        warnings: [...new Set([...facts.warnings, ...warnings])],
      })
      return 0
    } finally {
      await model.close()
      reader?.close()
    }
  },
})

// --- Internal helpers ---

/** The settings that were given; the engine has the defaults and checks the ranges. */
function samplingOf(values: {
  readonly max: number | undefined
  readonly temperature: number | undefined
  readonly 'top-k': number | undefined
  readonly 'top-p': number | undefined
}) {
  const { max, temperature, 'top-k': topK, 'top-p': topP } = values
  return {
    ...(max === undefined ? {} : { max }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topK === undefined ? {} : { topK }),
    ...(topP === undefined ? {} : { topP }),
  }
}

/** Greedy decoding draws nothing. */
function unreadSampling(values: {
  readonly temperature: number | undefined
  readonly 'top-k': number | undefined
  readonly 'top-p': number | undefined
}): string[] {
  const given = (['top-k', 'top-p'] as const).filter((name) => values[name] !== undefined)
  if (given.length === 0 || (values.temperature ?? 0) > 0) return []
  const names = given.map((name) => `--${name}`).join(' and ')
  return [
    `${names} ${given.length === 1 ? 'chooses' : 'choose'} what is drawn, and temperature 0 draws nothing: give --temperature above 0.`,
  ]
}

function textOf(model: Model, ids: readonly number[], wordOf: (model: Model, id: number) => string): string {
  return model.tokenizer ? model.tokenizer.decode(ids) : ids.map((id) => `${wordOf(model, id)} `).join('')
}

/** The new text as it follows the prompt: on its own, a first token may lose the space before it. */
function continuation(
  model: Model,
  { promptIds, ids }: Generated,
  wordOf: (model: Model, id: number) => string,
): string {
  const before = textOf(model, promptIds, wordOf)
  const whole = textOf(model, [...promptIds, ...ids], wordOf)
  return whole.startsWith(before) ? whole.slice(before.length) : textOf(model, ids, wordOf)
}

function summary(made: Generated, check: { cached_equals_uncached: boolean | null; why?: string }): string {
  const ended = {
    max: 'as many as asked for',
    eos: 'ended by itself',
    context: 'the position table is full',
  }[made.stopped]
  const equal = check.cached_equals_uncached
  const cache =
    equal === null
      ? `cache not compared: ${check.why}`
      : equal
        ? 'cache = uncached pass'
        : 'the cache differs from an uncached pass'
  return `${made.ids.length} tokens (${ended}); ${cache}`
}

async function openReader(values: StoreValues) {
  const [{ openStore }, { workspaceWrites }, { storePath }] = await Promise.all([
    import('../../store/capture-store.ts'),
    import('../../api/compute/workspace-writes.ts'),
    import('../store.ts'),
  ])
  const path = storePath(values)
  if (path === null) return null // the edit says that no store is open
  return workspaceWrites(openStore(path, { readonly: true }))
}

async function join(
  model: Model,
  steps: ReadonlyMap<string, readonly Tensor[]>,
): Promise<Map<string, Tensor>> {
  const [{ joinSteps }, { dependsOnLength }] = await Promise.all([
    import('../generated-captures.ts'),
    import('../../run/rope-tables.ts'),
  ])
  // Without a cache every step computes all rows anew: the last one has them all.
  const whole = model.spec.ropes.some(dependsOnLength)
  // Keys and values of the encoder's text are the same in every step.
  const fixed = /\.cross_attn\.hook_(rot_)?[kv]$/
  return new Map(
    [...steps].map(([hook, tensors]) => [
      hook,
      whole || fixed.test(hook) ? tensors.at(-1)! : joinSteps(tensors),
    ]),
  )
}

async function write(
  file: string,
  sequences: readonly number[][],
  sources: readonly (readonly number[])[],
  captured: readonly ReadonlyMap<string, Tensor>[],
): Promise<void> {
  const [{ joinItems }, { writeCaptures }] = await Promise.all([
    import('../generated-captures.ts'),
    import('../captures-file.ts'),
  ])
  const names = [...captured[0]!.keys()]
  const tensors = new Map(names.map((name) => [name, joinItems(captured.map((one) => one.get(name)!))]))
  if (sources.length > 0) writeCaptures(file, sources, tensors, sequences)
  else writeCaptures(file, sequences, tensors)
}
