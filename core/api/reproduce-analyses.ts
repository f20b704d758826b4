/**
 * Requests about heads, texts and checkpoints as words of a command and as lines of a script; the others are in
 * reproduce-inside.ts. In: plain data. Out: text parts for reproduce.ts. Pure.
 */
import { headName } from '../graph/hook-names.ts'
import type { AnalysisRequest } from './contract.ts'
import { type CommandForm, type Folders, literal, type ScriptForm } from './reproduce-forms.ts'
import { insideCommand, insideScript } from './reproduce-inside.ts'
import {
  code,
  decoderCode,
  encoded,
  fields,
  option,
  promptsWords,
  promptWords,
  quoted,
} from './reproduce-words.ts'

export function analysisCommand(asked: AnalysisRequest, { members = [] }: Folders): CommandForm | null {
  switch (asked.kind) {
    case 'compare': {
      const { a, b, prompts, scores, length, batch, seed, match, weights } = asked.request
      const given = promptsWords(prompts)
      const words = [
        a,
        b,
        ...given.words,
        ...option('scores', scores?.join(',')),
        ...option('length', length),
        ...option('batch', batch),
        ...option('seed', seed),
        ...(match ? ['--match'] : []),
        ...option('weights', weights?.join(',')),
      ]
      return withFile({ name: 'compare', words }, given.file)
    }
    case 'spans': {
      const { model, prompts, hit, threshold, check, heads = [] } = asked.request
      const given = promptsWords(prompts)
      const words = [
        model,
        ...given.words,
        ...option('hit', hit),
        ...option('threshold', threshold),
        ...(check ? ['--check'] : []),
        ...heads.flatMap(({ layer, head }) => option('head', headName(layer, head))),
      ]
      return withFile({ name: 'spans', words }, given.file)
    }
    case 'series': {
      const { scores, length, batch, seed, bos, threshold } = asked.request
      const words = [
        ...members.map(({ path }) => path),
        ...option('scores', scores?.join(',')),
        ...option('length', length),
        ...option('batch', batch),
        ...option('seed', seed),
        ...option('bos', bos === undefined ? undefined : bos ? 'yes' : 'no'),
        ...option('threshold', threshold),
      ]
      return { name: 'scan', words }
    }
    case 'relation': {
      const { model, template, triples } = asked.request
      if (!template && !triples) return { name: 'relation', words: [model] }
      const file = triples ? 'triples.jsonl' : 'template.json'
      const lines = triples
        ? triples.map(({ prompt: { text, ids }, ...places }) => ({
            ...(ids ? { ids } : { text }),
            ...places,
          }))
        : [template]
      const written = lines.map((line) => quoted(JSON.stringify(line))).join(' ')
      return {
        name: 'relation',
        words: [model, triples ? '--triples' : '--template', file],
        before: `printf '%s\\n' ${written} > ${file}`,
      }
    }
    case 'summary': {
      const { model, prompt, kind, pos, without_first: withoutFirst } = asked.request
      const words = [
        model,
        ...promptWords(prompt),
        ...option('pos', pos),
        ...(withoutFirst ? ['--without-first'] : []),
      ]
      return { name: kind, words }
    }
    case 'generate': {
      const { model, prompt, chat, ...options } = asked.request
      const words = [
        model,
        ...promptWords(prompt),
        ...(chat ? ['--chat'] : []),
        ...Object.entries(options).flatMap(([name, value]) => option(name, value)),
      ]
      return { name: 'generate', words }
    }
    default:
      return insideCommand(asked)
  }
}

export function analysisScript(asked: AnalysisRequest, { b = '', members = [] }: Folders): ScriptForm {
  switch (asked.kind) {
    case 'compare': {
      const { a: _a, b: _b, prompts, weights, report: _, ...options } = asked.request
      const maps = weights
        ? [`const weights = await compareWeights(model, other, invariantsOf(${code(weights)}))`]
        : []
      return {
        imports: ['compare', ...(weights ? ['compareWeights', 'invariantsOf'] : [])],
        lines: [
          `const other = await openModel(${code(b)})`,
          `const prompts = [${prompts.map((one) => `{ a: ${encoded(one)}, b: ${encoded(one).replace(/^model\./, 'other.')} }`).join(', ')}]`,
          `const comparison = await compare(model, other, prompts, ${literal([fields(options)])})`,
          ...maps,
          `const result = ${weights ? '{ ...comparison, weights }' : 'comparison'}`,
          'await other.close()',
        ],
      }
    }
    case 'spans': {
      const { model: _, prompts, check, heads, ...options } = asked.request
      return {
        imports: ['findSpans', ...(check ? ['spanEffects'] : [])],
        lines: [
          `const prompts = [${prompts.map(encoded).join(', ')}]`,
          `const spans = await findSpans(model, prompts, ${literal([fields(options)])})`,
          `const result = ${check ? `{ spans, causal: await spanEffects(model, spans, ${literal([fields({ heads })])}) }` : 'spans'}`,
        ],
      }
    }
    case 'series': {
      const { model: _, ...options } = asked.request
      return {
        imports: ['scanSeries'],
        lines: [
          `const result = await scanSeries(${code(members.map(({ at, path }) => ({ at, path })))}, ${literal([fields(options)])})`,
        ],
      }
    }
    case 'relation': {
      const { template, triples } = asked.request
      const list = triples
        ? `[${triples.map(({ prompt, ...places }) => `{ ids: ${encoded(prompt)}, ${fields(places)} }`).join(', ')}]`
        : `relationTriples(model, ${template ? code(template) : 'RELATION_EXAMPLE'})`
      return {
        imports: [
          'relationProbe',
          ...(triples ? [] : ['relationTriples', ...(template ? [] : ['RELATION_EXAMPLE'])]),
        ],
        lines: [`const result = await relationProbe(model, ${list})`],
      }
    }
    case 'summary': {
      const { model: _, prompt, without_first: withoutFirst, ...options } = asked.request
      return {
        imports: ['attentionSummary'],
        lines: [
          `const result = await attentionSummary(model, ${encoded(prompt)}, ${literal([fields({ ...options, withoutFirst })])})`,
        ],
      }
    }
    case 'generate': {
      const { model: _, prompt, chat, ...options } = asked.request
      const { text = '', decoder } = prompt
      const user = code([{ role: 'user', content: text }])
      const given = [
        fields(options),
        ...(decoder ? [`decoderIds: ${decoderCode(decoder)}`] : []),
        'stopAt: model.checkpoint.eosIds',
      ]
      return {
        imports: decoder && !decoder.ids ? ['decoderPrompt'] : [],
        lines: [
          `const prompt = ${chat ? `model.tokenizer.renderChat(${user}).ids` : encoded(prompt)}`,
          `const result = await model.generate(prompt, ${literal(given)})`,
        ],
      }
    }
    default:
      return insideScript(asked)
  }
}

// --- Internal helpers ---

function withFile(form: CommandForm, file: string | null): CommandForm {
  return file === null
    ? form
    : { ...form, before: `# ${file}: the texts, one {"text": …} or {"ids": …} a line` }
}
