/** `headscope dla MODEL PROMPTS`: direct logit attribution by head, MLP, embedding and biases. One forward a prompt. */
import type { Dla } from '../../analysis/dla.ts'
import type { Model } from '../../run/model.ts'
import { command, UsageError } from '../command.ts'
import {
  DECODER_OPTIONS,
  ENGINE_OPTIONS,
  MODEL_OPTIONS,
  PROMPT_OPTIONS,
  UNSTORED_OPTIONS,
} from '../options.ts'
import type { Output } from '../output.ts'
import { printable, table } from '../table.ts'

export const dla = command({
  name: 'dla',
  usage: 'MODEL PROMPTS --answer TOKEN [options]',
  summary: 'Direct logit attribution: what each head, MLP, embedding and bias adds to a logit',
  detail:
    'Components sum to the logit before the final soft-cap (of the answer, minus that of the wrong answer). Norms are frozen at this run. --sources also splits every head by the position that it attends to.',
  examples: [
    'headscope dla prose-4l --text "The cat sat on the" --answer " floor"',
    'headscope dla induction-2l --ids 0,5,9,5 --answer-id 9 --wrong-id 7 --json',
  ],
  options: {
    ...PROMPT_OPTIONS,
    ...DECODER_OPTIONS,
    ...MODEL_OPTIONS,
    answer: { type: 'text', value: '" word"', help: 'the token whose logit is taken apart' },
    'answer-id': { type: 'whole', value: 'ID', help: 'the same by its id' },
    wrong: { type: 'text', value: '" word"', help: 'a token whose logit is subtracted' },
    'wrong-id': { type: 'whole', value: 'ID', help: 'the same by its id' },
    pos: { type: 'whole', value: 'N', help: 'position (default -1, the last)' },
    sources: { type: 'flag', help: 'also per head and source position' },
    'value-bias': {
      type: 'text',
      value: 'WHERE',
      choices: ['heads', 'bias'],
      help: 'b_V counts with its head (default) or, as in TransformerLens, with b_O',
    },
    ...UNSTORED_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [1, 1],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    const answer = oneOf(values.answer, values['answer-id'], 'answer')
    const wrong = oneOf(values.wrong, values['wrong-id'], 'wrong')
    if (answer === undefined)
      throw new UsageError('dla needs --answer or --answer-id: the token that is explained')
    const [
      { chooseModel },
      { openChosen },
      { givenPrompts, encodePrompts, viewsOf, withDecoders, wordOf },
      facts,
      analysis,
      metrics,
    ] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../prompts.ts'),
      import('../model-facts.ts'),
      import('../../analysis/dla.ts'),
      import('../../run/metrics.ts'),
    ])
    const given = givenPrompts(values, 'dla')
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    const model = await openChosen(chosen, values, call)
    try {
      const prompts = withDecoders(model, encodePrompts(model, given, values.bos), values)
      // Of a decoder that reads a text, the parts are those of its own rows.
      const rowsOf = prompts.map(({ ids: own, decoder }) => decoder?.ids ?? own)
      const { dVocab } = model.spec
      const ids = (token: string | number) =>
        metrics.resolveMetric({ kind: 'logit', answer: token }, [[0]], dVocab, model.tokenizer).answer!
      const options = {
        answer: ids(answer),
        ...(wrong === undefined ? {} : { wrong: ids(wrong) }),
        ...(values.pos === undefined ? {} : { pos: values.pos }),
        sources: values.sources,
        valueBias: (values['value-bias'] ?? 'heads') as 'heads' | 'bias',
        signal,
      }
      const results: Dla[] = []
      for (const [i, prompt] of prompts.entries()) {
        const stack = prompt.decoder ? await model.reading(prompt.ids) : model
        results.push(await analysis.directLogitAttribution(stack, rowsOf[i]!, options))
      }
      const { model: known, warnings } = await facts.modelFacts(model, chosen)
      if (out.json) {
        const items = results.map((result, i) => ({
          ids: rowsOf[i]!,
          ...(prompts[i]!.decoder ? { source_ids: prompts[i]!.ids } : {}),
          tokens: viewsOf(model, rowsOf[i]!).map((view) => view.text),
          ...document(model, result, wordOf),
        }))
        out.document({
          model: known,
          definitions: { dla: analysis.DLA_DEFINITION },
          ...document(model, results[0]!, wordOf),
          items,
          warnings,
        })
        return 0
      }
      out.line(facts.headline(model, chosen, values.at !== undefined, out.style))
      for (const result of results) report(out, result, (id) => wordOf(model, id))
      out.warn(warnings)
      return 0
    } finally {
      await model.close()
    }
  },
})

// --- Internal helpers ---

function oneOf(text: string | undefined, id: number | undefined, name: string): string | number | undefined {
  if (text !== undefined && id !== undefined)
    throw new UsageError(`--${name} and --${name}-id exclude each other`)
  return text ?? id
}

function document(model: Model, result: Dla, wordOf: (model: Model, id: number) => string) {
  const { answer, wrong, sources, ...rest } = result
  const token = (id: number) => ({ id, token: wordOf(model, id) })
  return {
    ...rest,
    answer: token(answer),
    ...(wrong === null ? {} : { wrong: token(wrong) }),
    ...(sources.length > 0 ? { sources } : {}),
  }
}

function report(out: Output, result: Dla, word: (id: number) => string): void {
  const { style } = out
  out.line()
  const versus = result.wrong === null ? '' : ` minus ${printable(word(result.wrong))}`
  out.line(style.bold(`${printable(word(result.answer))}${versus}, after position ${result.pos}`))
  if (result.why) {
    out.line(style.dim(`–  undefined: ${result.why}`))
    return
  }
  const ranked = [...result.components].sort((a, b) => Math.abs(b.value) - Math.abs(a.value))
  const rows = ranked.map(({ name, value }) => [name, value.toFixed(4)])
  const columns = [{ title: 'part' }, { title: 'adds', right: true }]
  for (const line of table(columns, rows, style.bold)) out.line(line)
  const capped =
    result.logit === result.logit_after_cap ? '' : `, ${result.logit_after_cap!.toFixed(4)} after the cap`
  out.line(style.dim(`sum ${result.sum!.toFixed(4)}, logit ${result.logit!.toFixed(4)}${capped}`))
}
