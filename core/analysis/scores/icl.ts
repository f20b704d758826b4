/** The in-context-learning score of a model, with its sign. */
import { decoderOf } from '../../graph/model-spec.ts'
import { meanScore } from '../bootstrap.ts'
import { type ModelScore, noScore } from './score.ts'

/** The predicted tokens that are compared, counted from 1 in the document (BOS is not counted). */
const EARLY = 50
const LATE = 500

export const iclScore: ModelScore = {
  name: 'icl',
  title: 'In-context learning',
  definition: `In-context-learning score (Olsson et al. 2022): loss of predicting the ${LATE}th token minus loss of predicting the ${EARLY}th token of a document (BOS not counted), nats, mean over the prompts given that are long enough, one document a prompt. Negative is better: later tokens are easier. Others publish it with the opposite sign.`,
  kind: 'model',
  async value({ model, prompts, seed, signal }) {
    if (!decoderOf(model.spec).causal) return noScore('this model does not predict the next token')
    const { nCtx } = model.spec
    const bos = model.tokenizer?.bosId ?? null
    const offsetOf = (ids: readonly number[]) => (bos !== null && ids[0] === bos ? 1 : 0)
    if (nCtx < LATE)
      return noScore(`needs documents of ${LATE} tokens; this model was made for ${nCtx} positions`)
    const fit = prompts.flatMap((ids) => {
      const end = offsetOf(ids) + LATE
      return ids.length >= end ? [ids.slice(0, end)] : []
    })
    if (fit.length === 0)
      return noScore(
        `no prompt of ${LATE} tokens was given (BOS not counted); give documents of ${LATE} tokens or more`,
      )
    const differences: number[] = []
    for (const ids of fit) {
      const { items } = await model.run(ids, { top: 1, ...(signal ? { signal } : {}) })
      const o = offsetOf(ids)
      // Token number n of the document stands at n - 1 + o and is predicted from the position before.
      const [late, early] = [LATE, EARLY].map((n) => items[0]!.positions[n - 2 + o]!.loss)
      if (late == null || early == null) return noScore('some loss is not a finite number')
      differences.push(late - early)
    }
    return meanScore(differences, differences.length, seed)
  },
}
