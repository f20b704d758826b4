/**
 * The post-processor of tokenizer.json: what stands before, between and after texts.
 * In: its checked parts, word to id. Out: ids around a single text, and the parts of a pair with their token types.
 */
import { isObject, type JsonObject, show } from './json.ts'
import { badTokenizer } from './tokenizer-error.ts'

/** A part of a pair: a text or fixed ids, each with a token type. */
export interface PairPart {
  readonly part: 'first' | 'second' | readonly number[]
  readonly typeId: number
}

/** Ids that a post-processor puts before and after a single text. @throws HeadscopeError naming a token that is not there */
export function readTemplate(
  processors: readonly JsonObject[],
  ids: ReadonlyMap<string, number>,
): { before: number[]; after: number[] } {
  let before: number[] = []
  let after: number[] = []
  const idOf = idReader(ids)
  for (const processor of processors) {
    if (processor.type === 'BertProcessing' || processor.type === 'RobertaProcessing') {
      const [cls, sep] = [processor.cls, processor.sep].map((pair) =>
        idOf(Array.isArray(pair) ? pair[0] : pair),
      )
      before = [cls!, ...before]
      after = [...after, sep!]
    } else if (processor.type === 'TemplateProcessing') {
      const template = readSingle(processor, idOf)
      before = [...template.before, ...before]
      after = [...after, ...template.after]
    }
  }
  return { before, after }
}

function readSingle(
  processor: JsonObject,
  idOf: (value: unknown) => number,
): { before: number[]; after: number[] } {
  const { single, special_tokens: specials } = processor
  if (!Array.isArray(single))
    throw badTokenizer(`the post_processor has the template ${show(single)}, but it must be a list`)
  const before: number[] = []
  const after: number[] = []
  let reached = false
  for (const item of single) {
    if (isObject(item) && isObject(item.Sequence)) reached = true
    else if (isObject(item) && isObject(item.SpecialToken)) {
      ;(reached ? after : before).push(...tokenIds(item.SpecialToken.id, specials, idOf))
    } else throw badTokenizer(`the post_processor holds ${show(item)}, but must hold tokens and the text`)
  }
  if (!reached) throw badTokenizer('the post_processor has a template without the text')
  return { before, after }
}

/** How the last processor that says so joins two texts; without one they follow each other. */
export function readPairTemplate(
  processors: readonly JsonObject[],
  ids: ReadonlyMap<string, number>,
): PairPart[] {
  let pair: PairPart[] = [
    { part: 'first', typeId: 0 },
    { part: 'second', typeId: 1 },
  ]
  for (const processor of processors) {
    const idOf = idReader(ids)
    if (processor.type === 'BertProcessing' || processor.type === 'RobertaProcessing') {
      const bert = processor.type === 'BertProcessing'
      const [cls, sep] = [processor.cls, processor.sep].map((value) =>
        idOf(Array.isArray(value) ? value[0] : value),
      ) as [number, number]
      const second = bert ? 1 : 0
      pair = [
        { part: [cls], typeId: 0 },
        { part: 'first', typeId: 0 },
        { part: bert ? [sep] : [sep, sep], typeId: 0 },
        { part: 'second', typeId: second },
        { part: [sep], typeId: second },
      ]
    } else if (processor.type === 'TemplateProcessing' && Array.isArray(processor.pair)) {
      pair = processor.pair.map((item) => pairPart(item, processor.special_tokens, idOf))
    }
  }
  return pair
}

function pairPart(item: unknown, specials: unknown, idOf: (value: unknown) => number): PairPart {
  const spec = isObject(item) ? (item.Sequence ?? item.SpecialToken) : null
  if (!isObject(item) || !isObject(spec))
    throw badTokenizer(`the post_processor holds ${show(item)}, but must hold tokens and the text`)
  const typeId = typeof spec.type_id === 'number' ? spec.type_id : 0
  if (item.Sequence) return { part: spec.id === 'B' ? 'second' : 'first', typeId }
  return { part: tokenIds(spec.id, specials, idOf), typeId }
}

/** A special token of a template stands for one or more tokens. */
function tokenIds(name: unknown, specials: unknown, idOf: (value: unknown) => number): number[] {
  const spelt = isObject(specials) && typeof name === 'string' ? specials[name] : undefined
  return isObject(spelt) && Array.isArray(spelt.tokens) ? spelt.tokens.map(idOf) : [idOf(name)]
}

function idReader(ids: ReadonlyMap<string, number>): (value: unknown) => number {
  return (value) => {
    const id = typeof value === 'string' ? ids.get(value) : undefined
    if (id === undefined)
      throw badTokenizer(`the post_processor adds ${show(value)}, which is not in the vocabulary`)
    return id
  }
}
