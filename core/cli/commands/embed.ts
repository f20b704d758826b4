/** `headscope embed MODEL "king - man + woman"`: nearest tokens to a direction. One walk over the embedding. */
import { command, UsageError } from '../command.ts'
import { ENGINE_OPTIONS, MODEL_OPTIONS, UNSTORED_OPTIONS } from '../options.ts'
import { printable, table } from '../table.ts'

export const embed = command({
  name: 'embed',
  usage: 'MODEL "EXPRESSION" [options]',
  summary: 'The tokens nearest to a token, or to a combination of directions',
  detail:
    'Terms are single tokens, joined by spaced + and -: words (with a space in front where that is one token), quoted texts, or ids as #42. Cosine in the embedding as it enters the residual stream; tokens that the expression names are marked.',
  examples: ['headscope embed prose-4l cat', 'headscope embed prose-4l "king - man + woman" --count 20'],
  options: {
    ...MODEL_OPTIONS,
    count: { type: 'whole', value: 'N', help: 'neighbours (default 10)' },
    ...UNSTORED_OPTIONS,
    ...ENGINE_OPTIONS,
  },
  takes: [2, 2],
  async run(call) {
    const { values, positionals, place, out, signal } = call
    const { count = 10 } = values
    if (count < 1) throw new UsageError(`--count is ${count}, but must be 1 or more`)
    const [{ chooseModel }, { openChosen }, facts, { nearestTokens }, { wordOf }] = await Promise.all([
      import('../models.ts'),
      import('../runtime.ts'),
      import('../model-facts.ts'),
      import('../../analysis/embedding.ts'),
      import('../prompts.ts'),
    ])
    const chosen = await chooseModel(positionals[0]!, values.at, place)
    const model = await openChosen(chosen, values, call)
    try {
      const { terms, norm, neighbours } = await nearestTokens(model, positionals[1]!, { count, signal })
      const { model: known, warnings } = await facts.modelFacts(model, chosen)
      const named = neighbours.map((one) => ({ ...one, token: wordOf(model, one.id) }))
      if (out.json) {
        out.document({
          model: known,
          expression: terms.map((term) => ({ ...term, token: wordOf(model, term.id) })),
          norm,
          neighbours: named,
          warnings,
        })
        return 0
      }
      const { style } = out
      out.line(facts.headline(model, chosen, values.at !== undefined, style))
      const said = terms.map(
        ({ sign, text }, i) => `${sign < 0 ? '- ' : i > 0 ? '+ ' : ''}${printable(text)}`,
      )
      out.line(style.dim(`${said.join(' ')}, length ${norm.toPrecision(4)}`))
      out.line()
      const rows = named.map(({ id, token, cosine, named: own }) => [
        printable(token),
        cosine.toFixed(4),
        String(id),
        { text: own ? 'in the expression' : '', paint: style.dim },
      ])
      const columns = [
        { title: 'token' },
        { title: 'cosine', right: true },
        { title: 'id', right: true },
        { title: '' },
      ]
      for (const line of table(columns, rows, style.bold)) out.line(line)
      out.warn(warnings)
      return 0
    } finally {
      await model.close()
    }
  },
})
