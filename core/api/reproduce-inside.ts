/**
 * Requests about the residual stream, the weights and one head as words of a command and as lines of a script. In: plain
 * data. Out: text parts for reproduce.ts. Pure. Edits of a lens or an attribution, curves of the residual stream and single
 * steps of a head are done by no command.
 */
import { headName } from '../graph/hook-names.ts'
import type { InsideAnalysis } from './contract.ts'
import { type CommandForm, literal, type ScriptForm, tokenCode, tokenWords } from './reproduce-forms.ts'
import { code, encoded, fields, option, promptWords } from './reproduce-words.ts'

export function insideCommand(asked: InsideAnalysis): CommandForm | null {
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
    case 'pairs': {
      const { model, layer, head, circuit, count } = asked.request
      const words = [
        model,
        ...option('pairs', circuit),
        ...option('head', headName(layer, head)),
        ...option('top', count),
      ]
      return { name: 'weights', words }
    }
    default:
      return null
  }
}

export function insideScript(asked: InsideAnalysis): ScriptForm {
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
    case 'pairs': {
      const { model: _, layer, head, ...options } = asked.request
      return {
        imports: ['tokenPairs'],
        lines: [
          `const result = await tokenPairs(model, ${literal([fields({ layer, head })])}, ${literal([fields(options)])})`,
        ],
      }
    }
    case 'geometry': {
      const { prompt, edits } = asked.request
      return {
        imports: ['residualGeometry', 'residualStream'],
        lines: [
          `const stream = await residualStream(model, ${encoded(prompt)}, ${literal([fields({ edits })])})`,
          'const result = residualGeometry(stream)',
        ],
      }
    }
    case 'compound': {
      const { prompt, positions } = asked.request
      return {
        imports: ['compoundConvergence', 'residualStream'],
        lines: [
          `const stream = await residualStream(model, ${encoded(prompt)})`,
          `const result = compoundConvergence(stream, ${code(positions)})`,
        ],
      }
    }
    case 'contexts': {
      const places = asked.request.places.map(({ prompt, pos }) => `{ ids: ${encoded(prompt)}, pos: ${pos} }`)
      return {
        imports: ['contextShift'],
        lines: [`const result = await contextShift(model, [${places.join(', ')}])`],
      }
    }
    default: {
      const { prompt, layer, head, cross } = asked.request
      const place = literal([fields({ layer, head, ...(cross ? { cross } : {}) })])
      const { decoder } = prompt
      if (!decoder)
        return {
          imports: ['firstPrinciples'],
          lines: [
            `const run = await firstPrinciples.headRun(model, ${encoded(prompt)}, ${place})`,
            'const result = firstPrinciples.headSteps(model.spec, run)',
          ],
        }
      const own = decoder.ids ? code(decoder.ids) : `decoderPrompt(model, ${code(decoder.text ?? '')})`
      return {
        imports: ['firstPrinciples', ...(decoder.ids ? [] : ['decoderPrompt'])],
        lines: [
          `const reading = await model.reading(${encoded(prompt)})`,
          `const run = await firstPrinciples.headRun(reading, ${own}, ${place})`,
          'const result = firstPrinciples.headSteps(reading.spec, run)',
        ],
      }
    }
  }
}
