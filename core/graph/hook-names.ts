/**
 * The only place where hook names are built or parsed. Names are TransformerLens's:
 * `blocks.5.attn.hook_pattern`; encoder–decoders put `encoder.` or `decoder.` in front.
 * Globs: `*` matches any characters, dots too.
 */
import { HeadscopeError } from '../errors.ts'

/** The name under which the logits are captured and stored; `unembed.hook_out` is the same tensor. */
export const LOGITS = 'logits'
export const UNEMBED_OUT = 'unembed.hook_out'

export interface ParsedHook {
  readonly layer: number | null // null: embedding, final norm, unembedding
  readonly local: string // the name inside its block: 'attn.hook_pattern'
}

/** `blockHook(1, 'attn.hook_z')` is `blocks.1.attn.hook_z`. */
export function blockHook(layer: number, local: string): string {
  return `blocks.${layer}.${local}`
}

/** The three attentions of an encoder and its decoder. */
export type AttentionOf = 'encoder' | 'decoder' | 'cross'

/** `attentionHook('cross', 0, 'hook_z')` is `decoder.blocks.0.cross_attn.hook_z`. */
export function attentionHook(of: AttentionOf, layer: number, name: string): string {
  const [stack, attention] = of === 'cross' ? ['decoder', 'cross_attn'] : [of, 'attn']
  return `${stack}.${blockHook(layer, `${attention}.${name}`)}`
}

/** The layer and the name inside the block. Names without a block have `layer: null`. */
export function parseHook(name: string): ParsedHook {
  const match = /^(?:encoder\.|decoder\.)?blocks\.(\d+)\.(.+)$/.exec(name)
  return match ? { layer: Number(match[1]), local: match[2]! } : { layer: null, local: name }
}

/** `headName(5, 1)` is `L5H1`. */
export function headName(layer: number, head: number): string {
  return `L${layer}H${head}`
}

/**
 * The hooks that the globs match, in the order of `known`. `logits` stands for the model's output.
 * Throws `bad-request` for a glob that matches nothing, naming the nearest hooks.
 */
export function matchHooks(globs: readonly string[], known: readonly string[]): string[] {
  if (typeof globs === 'string')
    throw new HeadscopeError('bad-request', `Hooks are given as a list: write [${JSON.stringify(globs)}].`)
  const names = [...known, LOGITS]
  const wanted = new Set<string>()
  for (const glob of globs) {
    const pattern = globPattern(glob)
    const hits = names.filter((name) => pattern.test(name) && (name !== LOGITS || glob === LOGITS))
    if (hits.length === 0) throw new HeadscopeError('bad-request', noSuchHook(glob, names))
    for (const hit of hits) wanted.add(hit)
  }
  return names.filter((name) => wanted.has(name))
}

/** One sentence for a hook that a model does not have, with the nearest ones that it has. */
export function noSuchHook(name: string, known: readonly string[]): string {
  const near = nearest(name, known, 3).join(', ')
  const middle = /hook_resid_mid$/.test(name) && !known.some((k) => k.endsWith('hook_resid_mid'))
  if (middle)
    return `${name}: this model's blocks are parallel (attention and MLP read the same residual), so there is no hook_resid_mid; use hook_resid_pre or hook_resid_post.`
  if (name === LOGITS) return `${LOGITS} are the output and no hook; edit ${UNEMBED_OUT}, the same tensor.`
  return `${name} matches no hook of this model; the nearest are ${near}.`
}

// --- Internal helpers ---

function globPattern(glob: string): RegExp {
  const escaped = glob.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*/g, '.*')
  return new RegExp(`^${escaped}$`)
}

/** By the letters to change, in the whole name or, for a name without its block, in the last parts of it. */
function nearest(name: string, known: readonly string[], count: number): string[] {
  const plain = name.replaceAll('*', '').replace(/^\.+/, '')
  const parts = plain.split('.').length
  const distance = (candidate: string) => {
    const end = candidate.split('.').slice(-parts).join('.')
    return Math.min(editDistance(plain, candidate), editDistance(plain, end))
  }
  return [...known]
    .map((candidate) => ({ candidate, distance: distance(candidate) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map((entry) => entry.candidate)
}

/** Levenshtein distance with two rows. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      current.push(Math.min(change, previous[j]! + 1, current[j - 1]! + 1))
    }
    previous = current
  }
  return previous[b.length]!
}
