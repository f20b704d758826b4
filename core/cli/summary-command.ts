/**
 * What `rollout` and `flow` share: attention through all layers in one picture. In: the command's own name and texts.
 * Out: a command. The caveats are part of every answer.
 */
import type { AttentionSummary } from '../analysis/attention-summary.ts'
import { type Command, command } from './command.ts'
import {
  DECODER_OPTIONS,
  ENGINE_OPTIONS,
  MODEL_OPTIONS,
  PROMPT_OPTIONS,
  UNSTORED_OPTIONS,
} from './options.ts'
import type { Output } from './output.ts'
import { encodePrompts, givenPrompts, viewsOf, withDecoders } from './prompts.ts'
import { printable, table } from './table.ts'

interface About {
  readonly name: 'rollout' | 'flow'
  readonly summary: string
  readonly detail: string
  readonly examples: readonly string[]
}

/** Makes the command. */
export function summaryCommand(about: About): Command {
  const { name } = about
  return command({
    ...about,
    usage: 'MODEL PROMPTS [options]',
    options: {
      ...MODEL_OPTIONS,
      ...PROMPT_OPTIONS,
      ...DECODER_OPTIONS,
      pos: { type: 'whole', value: 'N', help: 'output position that is shown (default -1, the last)' },
      'without-first': {
        type: 'flag',
        help: 'leave the first position out as a key and renormalise the rows',
      },
      ...UNSTORED_OPTIONS,
      ...ENGINE_OPTIONS,
    },
    takes: [1, 1],
    async run(call) {
      const { values, positionals, place, out, signal } = call
      const given = givenPrompts(values, name)
      const [{ chooseModel }, { openChosen }, facts, { attentionSummary }, { asOneText }] = await Promise.all(
        [
          import('./models.ts'),
          import('./runtime.ts'),
          import('./model-facts.ts'),
          import('../analysis/attention-summary.ts'),
          import('../run/one-text.ts'),
        ],
      )
      const chosen = await chooseModel(positionals[0]!, values.at, place)
      const model = await openChosen(chosen, values, call)
      try {
        const prompts = withDecoders(model, encodePrompts(model, given, values.bos), values)
        const items: { ids: readonly number[]; words: string[]; pos: number; found: AttentionSummary }[] = []
        const warnings = new Set<string>()
        for (const { ids, decoder } of prompts) {
          const one = await asOneText(model, [{ ids, ...(decoder ? { decoder: decoder.ids } : {}) }])
          const own = one.ids[0]!
          const found = await attentionSummary(one.model, own, {
            kind: name,
            ...(values.pos === undefined ? {} : { pos: values.pos }),
            withoutFirst: values['without-first'],
            signal,
          })
          for (const warning of found.warnings) warnings.add(warning)
          const words = viewsOf(model, own).map(({ text }) => text)
          items.push({ ids: own, words, pos: found.pos, found })
        }
        const known = await facts.modelFacts(model, chosen)
        const all = [...new Set([...known.warnings, ...warnings])]
        if (out.json) {
          out.document({
            model: known.model,
            definitions: { [name]: items[0]!.found.definition },
            without_first: values['without-first'],
            items: items.map(({ ids, words, pos, found }) => ({
              ids,
              tokens: words,
              ...(name === 'flow' ? { pos, flow: found.values } : { rollout: rowsOf(found) }),
            })),
            warnings: all,
          })
          return 0
        }
        out.line(facts.headline(model, chosen, values.at !== undefined, out.style))
        for (const { words, pos, found } of items) report(out, words, pos, found)
        out.line(out.style.dim(items[0]!.found.definition))
        out.warn(all)
        return 0
      } finally {
        await model.close()
      }
    },
  })
}

// --- Internal helpers ---

/** [query][key]. */
function rowsOf({ values, length }: AttentionSummary): number[][] {
  return Array.from({ length }, (_, query) => values.slice(query * length, (query + 1) * length))
}

/** Widest bar of a row, in characters. */
const BAR = 24

function report(out: Output, words: readonly string[], pos: number, found: AttentionSummary): void {
  const { style } = out
  const row = found.kind === 'rollout' ? rowsOf(found)[pos]! : found.values
  const most = Math.max(...row)
  out.line()
  out.line(style.bold(`from position ${pos} ‘${printable(words[pos]!)}’ to`))
  const rows = row.map((value, key) => [
    String(key),
    printable(words[key]!),
    value.toFixed(4),
    { text: '█'.repeat(most > 0 ? Math.round((BAR * value) / most) : 0), paint: style.dim },
  ])
  const columns = [
    { title: 'pos', right: true },
    { title: 'token' },
    { title: found.kind, right: true },
    { title: '' },
  ]
  for (const line of table(
    columns,
    rows.slice(0, found.kind === 'rollout' ? pos + 1 : rows.length),
    style.bold,
  ))
    out.line(line)
  out.line()
}
