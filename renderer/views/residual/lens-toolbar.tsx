/** Above the lanes: what colours a cell, the answer, with or without the edits; the other prompt, and what is carried. */
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { rampGradient } from '../../charts/color.ts'
import { formatToken } from '../../state/metric.ts'
import { setTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { TokenField } from '../sweeps/token-field.tsx'
import { useLensChoices } from './lens-choices.ts'
import type { LensColour } from './lens-table.tsx'
import type { Lanes } from './use-lanes.ts'

const ENDS: Readonly<Record<LensColour, readonly [string, string]>> = {
  probability: ['0', '1'],
  entropy: ['sure', 'even'],
  loss: ['0', '8 nats'],
  answer: ['0', '1'],
  rank: ['last', 'first'],
}

interface Props {
  readonly model: OpenedModel
  readonly run: RunDetail
  readonly lanes: Lanes
}

export function LensToolbar({ model, run, lanes }: Props) {
  const theme = useTheme()
  const { colour, setColour, which, setWhich } = useLensChoices()
  const { answer, edits, around, other, held, setHeld, name } = lanes
  return (
    <>
      <div className="toolbar is-wrapping">
        <span className="field">
          <span>colour</span>
          <Segmented
            label="What colours a cell"
            value={colour}
            options={[
              { value: 'probability', label: 'top probability' },
              { value: 'entropy', label: 'entropy' },
              { value: 'loss', label: 'loss' },
              { value: 'answer', label: 'answer', disabled: !answer },
              { value: 'rank', label: 'its rank', disabled: !answer },
            ]}
            onChange={setColour}
          />
        </span>
        <TokenField
          label="answer"
          model={model}
          value={answer}
          likely={run.predictions.at(-1)?.topTokens ?? []}
          onChange={(token) => {
            setTool('answer', formatToken(token))
            if (colour !== 'rank') setColour('answer')
          }}
        />
        {edits.length > 0 && (
          <Segmented
            label="Which run"
            value={which}
            options={[
              { value: 'plain', label: 'as it is' },
              { value: 'edited', label: edits.length === 1 ? 'with the edit' : `with ${edits.length} edits` },
            ]}
            onChange={setWhich}
          />
        )}
        <span className="legend" title={around?.definition}>
          {ENDS[colour][0]}
          <i style={{ background: rampGradient(theme) }} />
          {ENDS[colour][1]}
        </span>
      </div>
      <div className="toolbar is-wrapping">
        <input
          className="input other-input mono"
          aria-label="Other prompt"
          placeholder={
            model.spec.encoder
              ? "another text of the decoder, over the same source: then drag a cell of one table onto the other's"
              : 'another prompt: then drag a cell of one table onto a cell of the other'
          }
          spellCheck={false}
          value={other.text}
          onChange={(event) => other.setText(event.target.value)}
        />
        {held && (
          <span className="carry-note" role="status">
            carrying {name(held)}: choose where it goes{' '}
            <button type="button" className="button small" onClick={() => setHeld(null)}>
              Cancel
            </button>
          </span>
        )}
        {other.problem && (
          <span className="problem" role="alert">
            {other.problem}
          </span>
        )}
      </div>
    </>
  )
}
