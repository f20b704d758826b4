/**
 * `model.run`: prompts, wanted hooks and edits → captures and predictions. In memory at once: the weights touched, the
 * state, and the captures of the block in hand; the rest is kept only when no `onCapture` takes it. Nothing is kept
 * between runs.
 */

import { HeadscopeError } from '../errors.ts'
import { LOGITS, matchHooks, UNEMBED_OUT } from '../graph/hook-names.ts'
import { decoderOf } from '../graph/model-spec.ts'
import type { Tensor } from '../graph/tensor.ts'
import { createSources } from './edit-sources.ts'
import { resolveEdits } from './edits.ts'
import type { Engine } from './engine.ts'
import { firstNonFinite } from './non-finite.ts'
import { cleared, lengthsBySequence } from './padding.ts'
import { runPass, throwIfCancelled } from './pass.ts'
import { runUnembed } from './predictions.ts'
import { batchOf, checkBatch, checkTokenTypes, rightPad, sourceLengthsOf, sourceOf } from './prompts.ts'
import { captureReader, runItem } from './run-result.ts'
import type { HookInfo } from './segments.ts'
import type { Provenance, Run, RunOptions } from './types.ts'

/** Runs a batch. `provenance` is what the model knows about itself. */
export async function hookedRun(
  engine: Engine,
  prompts: readonly (readonly number[])[],
  options: RunOptions,
  provenance: Omit<Provenance, 'capture' | 'edits'>,
): Promise<Run> {
  const { spec } = engine.model
  const batch = batchOf(spec, prompts, options.decoderIds)
  const warnings = checkBatch(batch, spec)
  checkTokenTypes(options.tokenTypes, prompts, spec)
  const { top } = options
  if (top !== undefined && !(Number.isInteger(top) && top >= 0))
    throw new HeadscopeError('bad-request', `top must be a whole number of 0 or more, but is ${top}.`)
  const tokenTypes = options.tokenTypes && rightPad(options.tokenTypes)
  const names = engine.hooks.map((hook) => hook.name)
  const matched = matchHooks(options.capture ?? [], names)
  const wanted = new Set(matched.map((name) => (name === LOGITS ? UNEMBED_OUT : name)))
  const lengths = batch.main.map((ids) => ids.length)
  const sourceLengths = sourceLengthsOf(engine, batch)
  const edits = await resolveEdits(options.edits ?? [], {
    spec,
    hooks: engine.hooks,
    lengths,
    sourceLengths,
    total: Math.max(...lengths),
    source: createSources(engine, batch, options),
  })

  const lengthsOf = lengthsBySequence(lengths, sourceLengths)
  const captures = new Map<string, Tensor>()
  const onTensor = async (hook: HookInfo, computed: Tensor) => {
    const tensor = cleared(computed, hook, lengthsOf)
    for (const name of namesOf(hook.name, matched)) {
      if (options.onCapture) await options.onCapture(name, tensor)
      else captures.set(name, tensor)
    }
  }
  const { causal } = decoderOf(spec)
  const blocks = spec.stacks.reduce((sum, { layers }) => sum + layers.length, 0)
  const started = performance.now()
  const onBlock = (done: number) => {
    const perBlock = (performance.now() - started) / 1000 / done
    options.onProgress?.({ done, total: blocks + 1, secondsLeft: perBlock * (blocks + 1 - done) })
  }
  const ids = rightPad(batch.main)
  const source = sourceOf(batch)
  const common = { ...source, lengths, tokenTypes, start: 0, wanted, edits, signal: options.signal, onTensor }
  const { state } = await runPass(engine, { ...common, ids, total: ids[0]!.length, onBlock })

  const reply = await runUnembed(engine, {
    resid: state.get('resid')!,
    start: 0,
    // A model that sees what follows does not predict it.
    targets: batch.main.map((row) => ids[0]!.map((_, pos) => (causal ? (row[pos + 1] ?? null) : null))),
    top: options.top ?? 5,
    wanted,
    edits,
    onTensor,
  })
  throwIfCancelled(options.signal)
  const broken = await firstNonFinite(engine, state.get('resid')!, {
    ...source,
    ids,
    lengths,
    edits,
    total: ids[0]!.length,
  })
  if (broken) warnings.push(broken)
  else if (reply.nonFinite)
    warnings.push(
      'Some logits are not finite (NaN or Inf): probabilities and losses of those positions do not exist.',
    )
  options.onProgress?.({ done: blocks + 1, total: blocks + 1, secondsLeft: 0 })

  return {
    items: batch.main.map((row, item) => ({
      ...runItem(row, reply.predictions[item] ?? []),
      ...(batch.source ? { source: batch.source[item]! } : {}),
      ...(engine.reads ? { source: engine.reads.ids[0]! } : {}),
    })),
    provenance: {
      ...provenance,
      capture: options.capture ?? [],
      edits: options.edits ?? [],
      ...(options.tokenTypes ? { tokenTypes: options.tokenTypes } : {}),
    },
    warnings,
    captured: matched,
    get: captureReader(captures),
  }
}

// --- Internal helpers ---

/** The names under which a hook was asked for: `logits` and `unembed.hook_out` are one tensor. */
function namesOf(name: string, matched: readonly string[]): string[] {
  if (name !== UNEMBED_OUT) return [name]
  return [UNEMBED_OUT, LOGITS].filter((alias) => matched.includes(alias))
}
