/**
 * Prompts of an ONNX file, one after the other, put together as one batch: each item is its run alone. In: what runs one
 * prompt, and the names wanted. Out: captures right-padded with 0, and predictions.
 */
import { LOGITS, UNEMBED_OUT } from '../graph/hook-names.ts'
import { sizeOf, type Tensor } from '../graph/tensor.ts'
import type { OnnxTensor } from './onnx-session.ts'
import { throwIfCancelled } from './pass.ts'
import { predictionsOf } from './predictions-of.ts'
import { captureReader, runItem } from './run-result.ts'
import type { HookInfo } from './segments.ts'
import type { Run, RunItem, RunOptions } from './types.ts'

export interface OnnxWork {
  /** Tensors of one prompt, by tensor name; the logits among them. */
  readonly runItem: (ids: readonly number[], item: number) => Promise<ReadonlyMap<string, OnnxTensor>>
  readonly prompts: readonly (readonly number[])[]
  readonly run: RunOptions
  /** Names asked for → tensors. */
  readonly names: ReadonlyMap<string, string>
  readonly logits: string
  readonly hooks: readonly HookInfo[]
  readonly warnings: readonly string[]
  readonly provenance: () => Run['provenance']
}

/** Throws `cancelled` between prompts, and what a prompt's run throws. */
export async function runPrompts(work: OnnxWork): Promise<Run> {
  const { prompts, run, names, logits } = work
  const pieces = new Map<string, OnnxTensor[]>()
  const items: RunItem[] = []
  const started = performance.now()
  for (const [i, ids] of prompts.entries()) {
    throwIfCancelled(run.signal)
    const outputs = await work.runItem(ids, i)
    for (const [name, tensor] of names) pieces.set(name, [...(pieces.get(name) ?? []), outputs.get(tensor)!])
    items.push(runItem(ids, predictionsOf(outputs.get(logits)!.data, ids, run.top ?? 5)))
    const perItem = (performance.now() - started) / 1000 / (i + 1)
    run.onProgress?.({ done: i + 1, total: prompts.length, secondsLeft: perItem * (prompts.length - i - 1) })
  }
  const captures = new Map<string, Tensor>()
  for (const [name, parts] of pieces) {
    const tensor = captureOf(name, { ...joined(parts), type: parts[0]!.type }, work.hooks)
    if (run.onCapture) await run.onCapture(name, tensor)
    else captures.set(name, tensor)
  }
  return {
    items,
    provenance: work.provenance(),
    warnings: work.warnings,
    captured: [...names.keys()],
    get: captureReader(captures),
  }
}

/** Scores below these are masked: exporters mask with the lowest float, or the lowest half. */
const MASKED = { float32: -1e30, float16: -65_000 } as const

/** A tensor under a hook's name: with its axes where it is one, and with -∞ where an exporter masked. */
export function captureOf(
  name: string,
  { data, shape, type }: Omit<OnnxTensor, 'raw'>,
  hooks: readonly HookInfo[],
): Tensor {
  const hook = hooks.find((one) => one.name === (name === LOGITS ? UNEMBED_OUT : name))
  const axes = hook?.axes ?? []
  if (!/hook_attn_scores$/.test(name)) return { data, shape, axes }
  const masked = type === 'float16' ? MASKED.float16 : MASKED.float32
  return { data: data.map((score) => (score < masked ? Number.NEGATIVE_INFINITY : score)), shape, axes }
}

// --- Internal helpers ---

/** Items [1, …] of unequal sizes as one batch, 0 beyond each item's own end. */
function joined(parts: readonly Pick<OnnxTensor, 'data' | 'shape'>[]) {
  const first = parts[0]!
  if (parts.length === 1) return { data: first.data, shape: [...first.shape] }
  const inner = first.shape.slice(1).map((_, i) => Math.max(...parts.map((part) => part.shape[i + 1]!)))
  const size = sizeOf(inner)
  const data = new Float32Array(parts.length * size)
  parts.forEach((part, item) => {
    copy(part.data, part.shape.slice(1), data.subarray(item * size, (item + 1) * size), inner)
  })
  return { data, shape: [parts.length, ...inner] }
}

function copy(
  from: Float32Array,
  small: readonly number[],
  to: Float32Array,
  large: readonly number[],
): void {
  if (small.length <= 1) {
    to.set(from)
    return
  }
  const narrow = sizeOf(small.slice(1))
  const wide = sizeOf(large.slice(1))
  for (let i = 0; i < small[0]!; i++)
    copy(
      from.subarray(i * narrow, (i + 1) * narrow),
      small.slice(1),
      to.subarray(i * wide, (i + 1) * wide),
      large.slice(1),
    )
}
