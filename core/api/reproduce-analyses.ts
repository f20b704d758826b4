/**
 * Requests of analyses as words of a command and as lines of a script. In: plain data. Out: text parts for reproduce.ts.
 * Pure. What no command does (edits of a lens or of an attribution, single steps of a head) has null words.
 */
import { headName } from '../graph/hook-names.ts'
import type { AnalysisRequest } from './contract.ts'
import { code, encoded, fields, option, promptsWords, promptWords, quoted } from './reproduce-words.ts'

/** Folders that a script opens, where a request has names. */
export interface Folders {
  readonly path: string
  /** The second checkpoint of a comparison. */
  readonly b?: string
  /** The checkpoints of a series. */
  readonly members?: readonly { readonly at: string; readonly path: string }[]
}

/** The command's name and its words; lines that have to stand before it; null: there is no command. */
export interface CommandForm {
  readonly name: string
  readonly words: readonly string[]
  readonly before?: string
}

/** The lines of a script behind `openModel`; `imports` beside it. */
export interface ScriptForm {
  readonly imports: readonly string[]
  readonly lines: readonly string[]
}

export function analysisCommand(asked: AnalysisRequest, { members = [] }: Folders): CommandForm | null {
  switch (asked.kind) {
    case 'lens': {
      const { model, prompt, positions = [], layers = [], answer, top, edits = [] } = asked.request
      if (edits.length > 0) return null
      const words = [
        model,
        ...promptWords(prompt),
        ...positions.flatMap((pos) => option('pos', pos)),
        ...layers.flatMap((layer) => option('layer', layer)),
        ...tokenWords('answer', answer),
        ...option('top', top),
      ]
      return { name: 'lens', words }
    }
    case 'dla': {
      const { model, prompt, answer, wrong, pos, edits = [], sources, value_bias } = asked.request
      if (edits.length > 0) return null
      const words = [
        model,
        ...promptWords(prompt),
        ...tokenWords('answer', answer),
        ...tokenWords('wrong', wrong),
        ...option('pos', pos),
        ...(sources ? ['--sources'] : []),
        ...option('value-bias', value_bias),
      ]
      return { name: 'dla', words }
    }
    case 'weights': {
      const { model, fold, composition } = asked.request
      const words = [
        model,
        ...option('fold', fold === undefined ? undefined : fold ? 'yes' : 'no'),
        ...(composition === false ? ['--no-composition'] : []),
      ]
      return { name: 'weights', words }
    }
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
      const { scores, length, batch, seed } = asked.request
      const words = [
        ...members.map(({ path }) => path),
        ...option('scores', scores?.join(',')),
        ...option('length', length),
        ...option('batch', batch),
        ...option('seed', seed),
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
    default:
      return null
  }
}

export function analysisScript(asked: AnalysisRequest, { b = '', members = [] }: Folders): ScriptForm {
  switch (asked.kind) {
    case 'lens': {
      const { model: _, prompt, answer, ...options } = asked.request
      const own = [fields(options), answer === undefined ? '' : `answer: ${tokenCode(answer)}`]
      return {
        imports: ['logitLens'],
        lines: [`const result = await logitLens(model, [${encoded(prompt)}], ${literal(own)})`],
      }
    }
    case 'dla': {
      const { model: _, prompt, answer, wrong, value_bias: valueBias, ...options } = asked.request
      const own = [
        `answer: ${tokenCode(answer)}`,
        wrong === undefined ? '' : `wrong: ${tokenCode(wrong)}`,
        fields({ ...options, valueBias }),
      ]
      return {
        imports: ['directLogitAttribution'],
        lines: [`const result = await directLogitAttribution(model, ${encoded(prompt)}, ${literal(own)})`],
      }
    }
    case 'weights': {
      const { model: _, ...options } = asked.request
      return {
        imports: ['copyingScores', 'weightAnalysis'],
        lines: [
          `const weights = await weightAnalysis(model, ${literal([fields(options)])})`,
          'const result = { ...weights, copying: await copyingScores(model) }',
        ],
      }
    }
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
    default: {
      const { prompt, layer, head } = asked.request
      return {
        imports: ['firstPrinciples'],
        lines: [
          `const run = await firstPrinciples.headRun(model, ${encoded(prompt)}, ${literal([fields({ layer, head })])})`,
          'const result = firstPrinciples.headSteps(model.spec, run)',
        ],
      }
    }
  }
}

// --- Internal helpers ---

function withFile(form: CommandForm, file: string | null): CommandForm {
  return file === null
    ? form
    : { ...form, before: `# ${file}: the texts, one {"text": …} or {"ids": …} a line` }
}

/** A token by its id or as text. */
function tokenWords(name: string, token: string | number | undefined): string[] {
  return typeof token === 'number' ? option(`${name}-id`, token) : option(name, token)
}

/** A token that is given as text is the one that it encodes to. */
function tokenCode(token: string | number): string {
  return typeof token === 'number' ? String(token) : `model.encode(${code(token)}, { bos: 'no' })[0]`
}

function literal(parts: readonly string[]): string {
  const inside = parts.filter((part) => part !== '').join(', ')
  return inside === '' ? '{}' : `{ ${inside} }`
}
