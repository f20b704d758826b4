/**
 * `headscope lens MODEL PROMPTS`: what the model would say at every block border. One forward, and one unembedding per
 * layer; full logits stream into a file layer by layer.
 */
import { resolve } from 'node:path'
import type { Lens, LensCell } from '../../analysis/lens.ts'
import type { Model } from '../../run/model.ts'
import { command, UsageError } from '../command.ts'
import {
  DECODER_OPTIONS,
  ENGINE_OPTIONS,
  MODEL_OPTIONS,
  PROMPT_OPTIONS,
  TYPES_OPTION,
  UNSTORED_OPTIONS,
} from '../options.ts'
import { checkOut, refuseOwnFile } from '../out-file.ts'
import type { Output } from '../output.ts'
import type { Prompt } from '../prompts.ts'
import { printable, table } from '../table.ts'

export const lens = command({
  name: 'lens',
  usage: 'MODEL PROMPTS [options]',
  summary: 'Logit lens: what the model would say if it stopped at each block border',
  detail:
    'Row 0 is what enters block 0, the last row is the model’s own output; the statistics of the final norm are recomputed at every row. With --answer: its rank (0 is first) and probability everywhere.',
  examples: [
    'headscope lens prose-4l --text "The cat sat on the"',
    'headscope lens prose-4l --text "The cat sat on the" --pos -1 --answer " floor"',
    'headscope lens induction-2l --ids 0,5,9,5 --out lens.safetensors',
  ],
  options: {
    ...PROMPT_OPTIONS,
    ...DECODER_OPTIONS,
    ...TYPES_OPTION,
    ...MODEL_OPTIONS,
    pos: {
      type: 'whole',
      value: 'N',
      multiple: true,
      help: 'positions (default all); negative from the end',
    },
    layer: { type: 'whole', value: 'N', multiple: true, help: 'block borders (default all)' },
    top: { type: 'whole', value: 'N', help: 'likeliest tokens per cell (default 5)' },
    answer: { type: 'text', value: '" word"', help: 'a token whose rank is wanted' },
    'answer-id': { type: 'whole', value: 'ID', help: 'the same by its id' },
    out: { type: 'text', value: 'F.safetensors', help: 'write lens.0 … lens.L [batch, pos, d_vocab]' },
    ...UNSTORED_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    checkOut(values.out)
    const { top = 5 } = values
    if (top < 1) throw new UsageError(`--top is ${top}, but must be 1 or more`)
    if (values.answer !== undefined && values['answer-id'] !== undefined)
      throw new UsageError('--answer and --answer-id exclude each other')
    const [
      { chooseModel },
      { openChosen },
      { givenPrompts, encodePrompts, tokenTypesOf, withDecoders },
      facts,
      { logitLens, LENS_DEFINITION },
    ] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../prompts.ts'),
      import('../model-facts.ts'),
      import('../../analysis/lens.ts'),
    ])
    const given = givenPrompts(values, 'lens')
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    await refuseOwnFile(values.out, chosen.path)
    const model = await openChosen(chosen, values, call)
    try {
      const prompts = withDecoders(model, encodePrompts(model, given, values.bos), values)
      const types = tokenTypesOf(values)
      const answer = await answerOf(model, values.answer ?? values['answer-id'])
      const file = values.out === undefined ? null : await lensFile(resolve(values.out), model, prompts)
      let found: Lens
      try {
        found = await logitLens(
          model,
          prompts.map(({ ids }) => ids),
          {
            top,
            signal,
            onProgress: call.progress('lens'),
            ...(answer === null ? {} : { answer }),
            ...(values.pos.length > 0 ? { positions: values.pos } : {}),
            ...(values.layer.length > 0 && !file ? { layers: values.layer } : {}),
            ...(model.spec.encoderDecoder ? { decoderIds: prompts.map(({ decoder }) => decoder!.ids) } : {}),
            ...types,
            ...(file ? { onLogits: file.add } : {}),
          },
        )
        file?.commit()
      } finally {
        file?.discard()
      }
      const wanted = new Set(values.layer)
      const layers = found.layers.filter(({ layer }) => wanted.size === 0 || wanted.has(layer))
      const { model: known, warnings } = await facts.modelFacts(model, chosen)
      const { viewsOf, wordOf } = await import('../prompts.ts')
      const rowsOf = (item: number) => prompts[item]!.decoder?.ids ?? prompts[item]!.ids
      const words = prompts.map((_, item) => viewsOf(model, rowsOf(item)).map((view) => view.text))
      const all = [...new Set([...warnings, ...found.warnings])]
      if (out.json) {
        out.document({
          model: known,
          definitions: { lens: LENS_DEFINITION },
          items: prompts.map((_, item) => ({ ids: rowsOf(item), tokens: words[item]! })),
          ...(answer === null ? {} : { answer: { id: answer, token: wordOf(model, answer) } }),
          layers: layers.map(({ layer, positions }) => ({
            layer,
            positions: positions.map(({ rank, prob, top: likeliest, ...cell }) => ({
              ...cell,
              token: words[cell.item]![cell.pos]!,
              top: likeliest.map((one) => ({ ...one, token: wordOf(model, one.id) })),
              ...(answer === null ? {} : { rank, prob }),
              ...(cell.loss === null ? { why: 'nothing follows' } : {}),
            })),
          })),
          ...(values.out === undefined ? {} : { out: resolve(values.out) }),
          warnings: all,
        })
        return 0
      }
      out.line(facts.headline(model, chosen, values.at !== undefined, out.style))
      prompts.forEach((_, item) => {
        report(out, layers, item, words[item]!, (id) => wordOf(model, id))
      })
      if (values.out !== undefined)
        out.line(out.style.dim(`Logits of every border written to ${resolve(values.out)}`))
      out.warn(all)
      return 0
    } finally {
      await model.close()
    }
  },
})

// --- Internal helpers ---

async function answerOf(model: Model, answer: string | number | undefined): Promise<number | null> {
  if (answer === undefined) return null
  const { resolveMetric } = await import('../../run/metrics.ts')
  return resolveMetric({ kind: 'logit', answer }, [[0]], model.spec.dVocab, model.tokenizer).answer
}

/** A file whose tensors arrive one after the other. */
async function lensFile(file: string, model: Model, prompts: readonly Prompt[]) {
  const [{ encodeHeader, temporaryFile, writeError }, { rightPad }, { decoderOf }] = await Promise.all([
    import('../../checkpoint/safetensors-write.ts'),
    import('../../run/prompts.ts'),
    import('../../graph/model-spec.ts'),
  ])
  const ids = rightPad(prompts.map(({ ids: own }) => own))
  const main = rightPad(prompts.map(({ ids: own, decoder }) => decoder?.ids ?? own))
  const count = decoderOf(model.spec).layers.length + 1
  const shape = [main.length, main[0]!.length, model.spec.dVocab]
  const heads = [
    { name: 'input_ids', shape: [ids.length, ids[0]!.length], data: BigInt64Array.from(ids.flat(), BigInt) },
  ]
  const guard = <T>(work: () => T): T => {
    try {
      return work()
    } catch (error) {
      throw writeError(file, error)
    }
  }
  const { head } = encodeHeader([
    ...heads,
    ...Array.from({ length: count }, (_, l) => ({
      name: `lens.${l}`,
      shape,
      data: () => [], // written as it comes
    })),
  ])
  const target = guard(() => temporaryFile(file))
  guard(() => {
    target.write(head)
    target.write(new Uint8Array(heads[0]!.data.buffer))
  })
  return {
    add: (_: number, { data }: { data: Float32Array }) =>
      guard(() => target.write(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))),
    commit: () => guard(() => target.commit()),
    discard: () => target.discard(),
  }
}

function report(
  out: Output,
  layers: Lens['layers'],
  item: number,
  words: readonly string[],
  word: (id: number) => string,
): void {
  const { style } = out
  const cells = layers.map(({ positions }) => positions.filter((cell) => cell.item === item))
  const positions = cells[0]?.map((cell) => cell.pos) ?? []
  out.line()
  const columns = [
    { title: 'pos', right: true },
    { title: 'token' },
    ...layers.map(({ layer }) => ({ title: String(layer) })),
  ]
  const shown = ({ top, rank }: LensCell) => {
    const first = top[0]
    if (!first) return '–'
    const text = `${printable(word(first.id))} ${first.prob === null ? '' : first.prob.toFixed(2)}`
    return rank === null ? text : `${text} #${rank}`
  }
  const rows = positions.map((pos, n) => [
    { text: String(pos), paint: style.dim },
    printable(words[pos]!),
    ...cells.map((row) => shown(row[n]!)),
  ])
  for (const line of table(columns, rows, style.bold)) out.line(line)
}
