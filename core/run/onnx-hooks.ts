/**
 * What a run of one token shows of an ONNX file: sizes, and which tensors stand for which hooks. In: what was
 * recognised and the tensors of that run. Out: a `ModelSpec` as far as it is known, hooks, and names → tensors.
 */
import { HeadscopeError } from '../errors.ts'
import { blockHook, LOGITS, matchHooks, UNEMBED_OUT } from '../graph/hook-names.ts'
import { type ModelSpec, PLAIN_LAYER, PLAIN_MODEL } from '../graph/model-spec.ts'
import type { OnnxFile } from '../onnx/file.ts'
import { notObservable } from '../onnx/observable.ts'
import type { Recognised } from '../onnx/recognise.ts'
import type { OnnxTensor } from './onnx-session.ts'
import type { HookInfo } from './segments.ts'

export interface OnnxNames {
  readonly hooks: readonly HookInfo[]
  /** Names asked for → tensors: hooks first, then any tensor by its own name. Throws `bad-request`, `unsupported`. */
  wanted(globs: readonly string[]): Map<string, string>
  /** The tensor of a hook, or of its own name. */
  tensorOf(name: string): string
}

type Probe = ReadonlyMap<string, Pick<OnnxTensor, 'shape'>>

/** The output that holds the logits. Throws `unsupported` naming the outputs. */
export function logitsOutput({ graph, name }: Pick<OnnxFile, 'graph' | 'name'>): string {
  const outputs = graph.output.map((output) => output.name)
  const logits =
    outputs.find((output) => output === 'logits') ?? outputs.find((output) => /logits/.test(output))
  if (logits) return logits
  if (outputs.length === 1) return outputs[0]!
  throw new HeadscopeError(
    'unsupported',
    `${name} has no output called logits (its outputs are ${outputs.slice(0, 5).join(', ')}); export it with its language-model head.`,
  )
}

/** Sizes that a run of one token shows. */
export function specOf(found: Recognised, probe: Probe, logits: string): ModelSpec {
  const shape = (hook: string) => {
    const tap = found.taps.find((one) => one.hook.endsWith(hook))
    return tap ? probe.get(tap.tensor)!.shape : null
  }
  const patterns = Array.from({ length: found.layers }, (_, layer) => {
    const tap = found.taps.find((one) => one.layer === layer && one.hook.endsWith('hook_pattern'))
    return tap ? probe.get(tap.tensor)!.shape[1]! : 1
  })
  const dModel = shape('hook_resid_pre')?.at(-1) ?? 1
  const dHead = shape('hook_z')?.at(-1) ?? 1
  return {
    ...PLAIN_MODEL,
    family: 'onnx',
    dModel,
    dVocab: probe.get(logits)!.shape.at(-1)!,
    nCtx: Number.MAX_SAFE_INTEGER, // the graph itself says when a prompt is too long
    positional: 'learned',
    norm: { kind: 'layer', eps: 0 },
    tied: false,
    stacks: [
      {
        name: 'decoder',
        causal: true,
        layers: patterns.map((nHeads) => ({
          ...PLAIN_LAYER,
          nHeads,
          nKvHeads: nHeads,
          dHead,
          dMlp: 1,
          act: 'gelu' as const,
          gated: false,
          scoreScale: 1,
        })),
      },
    ],
  }
}

/** Hooks that were recognised and are laid out as ours are, and how names become tensors. */
export function namesOf(
  file: string,
  found: Recognised,
  probe: Probe,
  spec: ModelSpec,
  logits: string,
): OnnxNames {
  const hooks = hooksOf(found, probe, spec)
  const names = hooks.map((hook) => hook.name)
  const missing = found.fused.flatMap(({ layer }) =>
    ['attn.hook_pattern', 'attn.hook_attn_scores'].map((local) => blockHook(layer, local)),
  )
  const tensorOf = (name: string): string => {
    if (name === LOGITS || name === UNEMBED_OUT) return logits
    return found.taps.find((tap) => tap.hook === name)?.tensor ?? name
  }
  return {
    hooks,
    tensorOf,
    wanted(globs) {
      const matches = globs.flatMap((glob) => {
        if (/pattern|scores/.test(glob) && matchesOf(glob, missing).length > 0)
          throw new HeadscopeError('unsupported', notObservable(file, found))
        for (const some of [names, found.observable]) {
          const hits = matchesOf(glob, some, some === names)
          if (hits.length > 0) return hits
        }
        return matchHooks([glob], names) // throws, naming the nearest
      })
      // Block by block, whatever the order of the globs: scores of a layer come right before its pattern.
      const place = new Map([...names, ...found.observable].map((name, i) => [name, i]))
      const sorted = [...new Set(matches)].sort((a, b) => (place.get(a) ?? 0) - (place.get(b) ?? 0))
      return new Map(sorted.map((name) => [name, tensorOf(name)]))
    },
  }
}

// --- Internal helpers ---

function hooksOf({ taps }: Recognised, probe: Probe, spec: ModelSpec): HookInfo[] {
  const sized = new Set(['head', 'd_head', 'd_model'])
  const known = taps.flatMap((tap): HookInfo[] => {
    const { shape } = probe.get(tap.tensor)!
    if (shape.length !== tap.axes.length) return [] // recognised, but laid out in another way
    const sizes = tap.axes.map((axis, i) => (sized.has(axis) ? shape[i]! : axis))
    return [{ name: tap.hook, axes: tap.axes, cut: tap.axes, shape: sizes, segment: tap.layer }]
  })
  const axes = ['batch', 'pos', 'd_vocab'] as const
  return [
    ...known,
    { name: UNEMBED_OUT, axes, cut: axes, shape: ['batch', 'pos', spec.dVocab], segment: 'unembed' },
  ]
}

/** Names that a glob matches; none where it matches nothing. */
function matchesOf(glob: string, names: readonly string[], logits = true): string[] {
  if (!logits && glob === LOGITS) return []
  try {
    return matchHooks([glob], names)
  } catch {
    return []
  }
}
