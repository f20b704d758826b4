/**
 * How a tokenizer spells text in its pieces, told from its decoder, or without one from its pre-tokenizer.
 * In: checked components. Out: the style that pieces.ts renders by.
 */
import { isObject, type JsonObject, show } from './json.ts'
import type { PieceStyle } from './pieces.ts'

const MARK = '▁'

/** The style of a tokenizer's pieces, and what of its decoder is not applied. */
export function pieceStyle(
  model: JsonObject,
  components: ReadonlyMap<string, readonly JsonObject[]>,
): { style: PieceStyle; warnings: string[] } {
  const decoders = components.get('decoder') ?? []
  const warnings: string[] = []
  for (const decoder of decoders) {
    if (decoder.type === 'Replace' && !replacesMark(decoder)) {
      warnings.push(
        `tokenizer.json: the decoder replaces ${show(decoder.pattern)}, which is not applied to the text that is shown.`,
      )
    }
  }
  const style = decoders.length > 0 ? fromDecoders(model, decoders) : fromEncoder(model, components)
  return { style, warnings }
}

function fromDecoders(model: JsonObject, decoders: readonly JsonObject[]): PieceStyle {
  const find = (type: string) => decoders.find((decoder) => decoder.type === type)
  if (find('ByteLevel')) return { kind: 'byte-level' }
  const byteFallback = find('ByteFallback') !== undefined || model.byte_fallback === true
  const metaspace = find('Metaspace')
  if (metaspace) return metaspaceStyle(metaspace, byteFallback)
  if (decoders.some(replacesMark)) {
    const strip = find('Strip')
    return {
      kind: 'metaspace',
      mark: MARK,
      byteFallback,
      stripFirst: strip?.content === ' ' && strip.start === 1,
    }
  }
  const wordpiece = find('WordPiece')
  if (wordpiece) return { kind: 'wordpiece', prefix: text(wordpiece.prefix, '##') }
  const bpe = find('BPEDecoder')
  if (bpe) return { kind: 'suffix', suffix: text(bpe.suffix, '</w>') }
  return { kind: 'plain', separator: '' }
}

function fromEncoder(model: JsonObject, components: ReadonlyMap<string, readonly JsonObject[]>): PieceStyle {
  const splitters = components.get('pre_tokenizer') ?? []
  if (splitters.some(({ type }) => type === 'ByteLevel')) return { kind: 'byte-level' }
  const metaspace = splitters.find(({ type }) => type === 'Metaspace')
  if (metaspace) return metaspaceStyle(metaspace, model.byte_fallback === true)
  if (model.type === 'WordPiece') {
    return { kind: 'wordpiece', prefix: text(model.continuing_subword_prefix, '##') }
  }
  if (typeof model.end_of_word_suffix === 'string' && model.end_of_word_suffix !== '') {
    return { kind: 'suffix', suffix: model.end_of_word_suffix }
  }
  return { kind: 'plain', separator: ' ' }
}

function metaspaceStyle(component: JsonObject, byteFallback: boolean): PieceStyle {
  return {
    kind: 'metaspace',
    mark: text(component.replacement, MARK),
    byteFallback,
    stripFirst: component.prepend_scheme !== 'never' && component.add_prefix_space !== false,
  }
}

function replacesMark(decoder: JsonObject): boolean {
  return isObject(decoder.pattern) && decoder.pattern.String === MARK && decoder.content === ' '
}

function text(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}
