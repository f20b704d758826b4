/** The tables of cells: this prompt, the other one beside it, and the one that a cell was carried into. */
import type { ReactNode } from 'react'
import type { LensReply, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { promptWith } from '../../state/prompt-of.ts'
import { borderName } from './cells.ts'
import { useLensChoices } from './lens-choices.ts'
import { lensFigure } from './lens-figure.ts'
import { LensGrid } from './lens-grid.tsx'
import type { Lanes } from './use-lanes.ts'

interface Props {
  readonly model: OpenedModel
  readonly run: RunDetail
  readonly lanes: Lanes
}

export function LensLanes({ model, run, lanes }: Props) {
  const { colour } = useLensChoices()
  const {
    acting,
    other,
    answer,
    asked,
    views,
    ids,
    chosen,
    since,
    kind,
    carry,
    held,
    source,
    plain,
    patched,
    query,
  } = lanes
  const { pick, drag, drop, name, setCarried } = lanes
  const last = model.spec.n_layers
  const shared = { vocab: model.spec.d_vocab, colour, causal: model.spec.causal !== false }
  const both = other.views.length > 0
  // Where a decoder reads an encoder, the lanes are the decoder's, over one source.
  const stack = model.spec.encoder ? <span>residual stream of the decoder</span> : null
  const tools =
    (what: string, tokens: 'this' | 'other', whole: boolean) =>
    (lens: LensReply, positions: readonly number[]): ReactNode => (
      <FigureMenu
        name={what}
        figure={() =>
          lensFigure({
            lens,
            views: views[tokens],
            vocab: model.spec.d_vocab,
            colour,
            title: `logit lens${model.spec.encoder ? ' of the decoder' : ''}, ${what}`,
            answer: answer?.text ?? null,
            reproduce: whole
              ? {
                  kind: 'lens',
                  request: {
                    ...asked,
                    prompt: promptWith(run, ids[tokens]),
                    positions,
                    ...(tokens === 'this' && acting.length > 0 ? { edits: acting } : {}),
                  },
                }
              : null,
          })
        }
      />
    )
  return (
    <div className="lens-stack">
      <LensGrid
        {...shared}
        label={acting.length > 0 ? 'This prompt with the edits' : 'This prompt'}
        title={
          <>
            This prompt {stack}
            {acting.length > 0 && <span>with {acting.length === 1 ? 'the edit' : 'the edits'}</span>}
          </>
        }
        views={views.this}
        source={source.this}
        before={acting.length > 0 ? plain : null}
        selected={chosen.this}
        locked={query}
        since={since?.side === 'this' && kind === 'cell' ? since : null}
        shared
        onPick={pick('this')}
        tools={tools(acting.length > 0 ? 'this prompt with the edits' : 'this prompt', 'this', true)}
        {...(both ? { onDrag: drag('this'), onDrop: drop('this'), awaiting: held !== null } : {})}
      />
      {both && (
        <LensGrid
          {...shared}
          label="The other prompt"
          title={<>The other prompt {stack}</>}
          views={views.other}
          source={source.other}
          selected={chosen.other}
          since={since?.side === 'other' && kind === 'cell' ? since : null}
          shared={false}
          onPick={pick('other')}
          onDrag={drag('other')}
          onDrop={drop('other')}
          awaiting={held !== null}
          tools={tools('the other prompt', 'other', true)}
        />
      )}
      {both && patched && carry && (
        <LensGrid
          {...shared}
          label="With the carried cell"
          title={
            <>
              {carry.to.side === 'this' ? 'This prompt' : 'The other prompt'}, carried
              <span>
                {name(carry.from)} → {borderName(carry.to.border, last)} · {carry.to.pos}; grey: out of its
                reach
              </span>
            </>
          }
          views={views[carry.to.side]}
          source={patched}
          before={source[carry.to.side]}
          selected={null}
          cone={carry.to}
          shared={carry.to.side === 'this'}
          onPick={pick(carry.to.side)}
          tools={(lens, positions) => (
            <span className="button-row">
              <button type="button" className="button small" onClick={() => setCarried('')}>
                Remove
              </button>
              {tools('with the carried cell', carry.to.side, false)(lens, positions)}
            </span>
          )}
        />
      )}
    </div>
  )
}
