/**
 * The ends of a path: how senders and receivers are written, and which of them are joined. In: names. Out: plain
 * records. Pure, so that the app draws with it what the engine computes; costs nothing.
 */

/**
 * `embed` (tokens and positions), `source` (what an encoder hands over), `L5H1`, `L5H1.cross` (a decoder's look at its
 * encoder), or `L3.mlp`.
 */
export interface Sender {
  readonly name: string
  /** -1: before the first block. */
  readonly layer: number
  readonly head: number | null
  readonly part: 'embed' | 'source' | 'head' | 'cross' | 'mlp'
}

/** `L7H2.q`, `L7H2.k`, `L7H2.v`, the same of `L7H2.cross` (`L7H2.cross.q`), `L7.mlp`, or `logits`. */
export interface Receiver {
  readonly name: string
  /** Infinity: after the last block. */
  readonly layer: number
  readonly head: number | null
  readonly part: 'q' | 'k' | 'v' | 'mlp' | 'logits'
  /** Of a decoder's look at its encoder: its keys and values are made from the source. */
  readonly cross: boolean
}

/** An edge of a circuit, by the names of its ends. */
export interface PathEdge {
  readonly from: string
  readonly to: string
}

/** A sender's record; null where the name has no sender's form. */
export function readSender(name: string): Sender | null {
  if (name === 'embed' || name === 'source') return { name, layer: -1, head: null, part: name }
  const match = /^L(\d{1,6})(?:H(\d{1,6})(\.cross)?|\.mlp)$/.exec(name)
  if (!match) return null
  const head = match[2] === undefined ? null : Number(match[2])
  const part = head === null ? 'mlp' : match[3] ? 'cross' : 'head'
  return { name, layer: Number(match[1]), head, part }
}

/** A receiver's record; null where the name has no receiver's form. */
export function readReceiver(name: string): Receiver | null {
  if (name === 'logits')
    return { name, layer: Number.POSITIVE_INFINITY, head: null, part: 'logits', cross: false }
  const match = /^L(\d{1,6})(?:H(\d{1,6})(\.cross)?\.([qkv])|\.mlp)$/.exec(name)
  if (!match) return null
  const head = match[2] === undefined ? null : Number(match[2])
  return {
    name,
    layer: Number(match[1]),
    head,
    part: (match[4] ?? 'mlp') as Receiver['part'],
    cross: match[3] !== undefined,
  }
}

/** Whether a receiver's input is made from the source alone. */
export function readsSource({ cross, part }: Receiver): boolean {
  return cross && part !== 'q'
}

/** `parallel`: attention and MLP of one block read the same residual, so that neither hears the other. */
export function reaches(sender: Sender, receiver: Receiver, parallel: boolean): boolean {
  if (sender.part === 'source' || readsSource(receiver))
    return sender.part === 'source' && readsSource(receiver)
  if (receiver.layer !== sender.layer) return receiver.layer > sender.layer
  // A block looks at its own text, then at the source, then its MLP reads.
  if (receiver.cross) return sender.part === 'head'
  return !parallel && sender.part !== 'mlp' && receiver.part === 'mlp'
}
