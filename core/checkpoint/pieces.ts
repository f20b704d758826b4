/**
 * What a token's piece stands for, in bytes, and how a person sees it.
 * In: pieces as the vocabulary spells them. Out: UTF-8 bytes, one decoded text, or one view per token.
 * A token is always rendered from its own piece, never by decoding its id alone: that would lose a leading space and
 * the bytes of a character that is split over several tokens.
 */
import type { TokenView } from './types.ts'

/** How a vocabulary spells text. */
export type PieceStyle =
  | { readonly kind: 'byte-level' } // GPT-2: one visible character per byte
  | {
      readonly kind: 'metaspace'
      readonly mark: string
      readonly byteFallback: boolean
      readonly stripFirst: boolean
    }
  | { readonly kind: 'wordpiece'; readonly prefix: string }
  | { readonly kind: 'suffix'; readonly suffix: string } // the end of a word is marked, as </w>
  | { readonly kind: 'plain'; readonly separator: string }

/** A piece, as the vocabulary holds it. */
export interface Piece {
  readonly id: number
  readonly text: string
  /** Added tokens are spelt as text, whatever the style. */
  readonly literal: boolean
  readonly special: boolean
  /** No token has this id: its text is a note of ours, and shown as it is. */
  readonly unused?: boolean
}

const MAX_SHOWN = 64
const utf8 = new TextEncoder()

/** Byte of each of GPT-2's 256 visible characters. */
const BYTE_OF: ReadonlyMap<string, number> = new Map(
  (() => {
    const pairs: [string, number][] = []
    let next = 256
    for (let byte = 0; byte < 256; byte++) {
      const visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
      pairs.push([String.fromCodePoint(visible ? byte : next++), byte])
    }
    return pairs
  })(),
)

/** UTF-8 bytes of one piece; a part of a character may be incomplete. */
export function pieceBytes(piece: Piece, style: PieceStyle): Uint8Array {
  if (piece.literal) return utf8.encode(piece.text)
  if (style.kind === 'byte-level') {
    const bytes: number[] = []
    for (const char of piece.text) {
      const byte = BYTE_OF.get(char)
      if (byte === undefined) bytes.push(...utf8.encode(char))
      else bytes.push(byte)
    }
    return Uint8Array.from(bytes)
  }
  if (style.kind === 'metaspace') {
    const byte = style.byteFallback ? /^<0x([0-9A-Fa-f]{2})>$/.exec(piece.text) : null
    if (byte) return Uint8Array.of(Number.parseInt(byte[1]!, 16))
    return utf8.encode(piece.text.replaceAll(style.mark, ' '))
  }
  return utf8.encode(piece.text)
}

/** The whole text, through one byte buffer. Bytes that are no UTF-8 become U+FFFD. */
export function decodePieces(pieces: readonly Piece[], style: PieceStyle): string {
  const parts: Uint8Array[] = []
  pieces.forEach((piece, i) => {
    parts.push(joint(piece, i, style))
    if (style.kind === 'suffix' && !piece.literal && piece.text.endsWith(style.suffix)) {
      parts.push(
        utf8.encode(piece.text.slice(0, -style.suffix.length) + (i === pieces.length - 1 ? '' : ' ')),
      )
    } else if (style.kind === 'wordpiece' && !piece.literal && piece.text.startsWith(style.prefix)) {
      parts.push(utf8.encode(piece.text.slice(style.prefix.length)))
    } else {
      parts.push(pieceBytes(piece, style))
    }
  })
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(parts))
  return style.kind === 'metaspace' && style.stripFirst && text.startsWith(' ') ? text.slice(1) : text
}

/** What stands between a piece and the one before it. */
function joint(piece: Piece, index: number, style: PieceStyle): Uint8Array {
  if (index === 0) return new Uint8Array()
  if (style.kind === 'plain') return utf8.encode(style.separator)
  const continues = style.kind !== 'wordpiece' || (!piece.literal && piece.text.startsWith(style.prefix))
  return continues ? new Uint8Array() : utf8.encode(' ')
}

/**
 * One view per piece, [pieces]. A character whose bytes lie in several tokens is shown in each of them as its bytes,
 * `<F0 9F>`, and `group` names the first of these tokens.
 */
export function viewPieces(pieces: readonly Piece[], style: PieceStyle): TokenView[] {
  const views: { text: string; group: number | null }[] = pieces.map(() => ({ text: '', group: null }))
  const bytes = pieces.map((piece) => pieceBytes(piece, style))
  let start = 0
  while (start < pieces.length) {
    let end = start
    while (end < pieces.length && !pieces[end]!.literal) end++
    renderRun(bytes, start, end, views)
    if (end < pieces.length)
      views[end]!.text = pieces[end]!.unused ? pieces[end]!.text : visible(pieces[end]!.text)
    start = end + 1
  }
  return pieces.map((piece, i) => ({
    id: piece.id,
    text: clip(views[i]!.text === '' ? '<empty>' : views[i]!.text),
    special: piece.special,
    group: views[i]!.group,
  }))
}

/** Renders the tokens [start, end), whose bytes follow each other. */
function renderRun(
  bytes: readonly Uint8Array[],
  start: number,
  end: number,
  views: { text: string; group: number | null }[],
): void {
  const all = Buffer.concat(bytes.slice(start, end))
  const owner = new Int32Array(all.length) // token of each byte
  let at = 0
  for (let token = start; token < end; token++) {
    owner.fill(token, at, at + bytes[token]!.length)
    at += bytes[token]!.length
  }
  const raw = new Map<number, number[]>() // bytes of each token that wait to be shown as <..>
  const flush = (token: number) => {
    const waiting = raw.get(token)
    if (!waiting) return
    views[token]!.text +=
      `<${waiting.map((byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join(' ')}>`
    raw.delete(token)
  }
  for (let i = 0; i < all.length; ) {
    const length = characterLength(all, i)
    const first = owner[i]!
    const last = owner[i + Math.max(1, length) - 1]!
    if (length > 0 && first === last) {
      flush(first)
      views[first]!.text += visible(all.toString('utf8', i, i + length))
    } else {
      for (let k = i; k < i + Math.max(1, length); k++) {
        const waiting = raw.get(owner[k]!)
        if (waiting) waiting.push(all[k]!)
        else raw.set(owner[k]!, [all[k]!])
      }
    }
    if (length > 0 && first !== last) {
      const group = views[first]!.group ?? first
      for (let token = first; token <= last; token++) views[token]!.group = group
    }
    i += Math.max(1, length)
  }
  for (let token = start; token < end; token++) flush(token)
}

/** Bytes of the UTF-8 character at `at`, or 0 when there is none. */
function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!
  if (lead < 0x80) return 1
  const length =
    lead >= 0xf0 && lead <= 0xf4 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc2 && lead < 0xe0 ? 2 : 0
  if (length === 0 || at + length > bytes.length) return 0
  for (let k = 1; k < length; k++) if ((bytes[at + k]! & 0xc0) !== 0x80) return 0
  const second = bytes[at + 1]!
  // Overlong forms, surrogates and values beyond U+10FFFF are not characters.
  if ((lead === 0xe0 && second < 0xa0) || (lead === 0xed && second > 0x9f)) return 0
  if ((lead === 0xf0 && second < 0x90) || (lead === 0xf4 && second > 0x8f)) return 0
  return length
}

const SYMBOLS = new Map([
  [' ', '·'],
  ['\n', '⏎'],
  ['\t', '⇥'],
])

/** Text with spaces, line ends, control characters and other invisible characters made visible. */
export function visible(text: string): string {
  return text.replace(/[\p{Z}\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}]/gu, (char) => {
    const symbol = SYMBOLS.get(char)
    if (symbol) return symbol
    const code = char.codePointAt(0)!
    if (code < 32) return String.fromCodePoint(0x2400 + code)
    if (code === 127) return '␡'
    return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
  })
}

/** Long tokens keep their beginning and say how long they are. */
function clip(text: string): string {
  if (text.length <= MAX_SHOWN) return text
  const characters = [...text]
  return characters.length <= MAX_SHOWN
    ? text
    : `${characters.slice(0, MAX_SHOWN - 16).join('')}… (${characters.length} characters)`
}
