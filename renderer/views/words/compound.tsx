/** Do the pieces of one entity come together along the layers? Their cosine beside that of other pairs of the same prompt. */
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { useRun } from '../../api/queries.ts'
import { wordsApi } from '../../api/words.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { useTool } from '../../state/store.ts'
import { Empty } from '../../ui/notice.tsx'
import { BorderChart, borderFigure } from './border-chart.tsx'
import { TokenPicks } from './token-picks.tsx'

export function Compound({ model }: { model: OpenedModel }) {
  const run = useRun().data
  if (!run)
    return (
      <Empty title="No prompt yet">
        <p>Run a prompt with a name of several tokens in it, then click its pieces.</p>
      </Empty>
    )
  return <Pieces key={run.id} model={model} run={run} />
}

function Pieces({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const [given, setGiven] = useTool<string>('pieces', '')
  const pieces = given
    .split('.')
    .map(Number)
    .filter((pos) => given !== '' && Number.isInteger(pos) && pos < run.views.length)
  const prompt = { ids: run.views.map(({ id }) => id) }
  const found = useQuery({
    queryKey: ['compound', model.path, run.id, pieces],
    queryFn: ({ signal }) => wordsApi.compound({ model: model.path, prompt, positions: pieces }, signal),
    enabled: pieces.length > 1,
    retry: false,
  })
  const lines = useMemo(
    () =>
      found.data
        ? [
            {
              name: `pieces (${count(found.data.pairs)})`,
              values: found.data.borders.map((one) => one.pieces),
            },
            {
              name: `controls (${count(found.data.controlPairs)})`,
              values: found.data.borders.map((one) => one.controls),
            },
          ]
        : [],
    [found.data],
  )
  const figure = () => ({
    ...borderFigure(
      lines,
      'pieces of one entity beside other pairs',
      'Mean cosine of the residuals of the pieces, and of other pairs of this prompt at the same distances.',
      [`pieces at positions ${pieces.join(', ')}`],
      { kind: 'compound', request: { model: model.path, prompt, positions: pieces } },
    ),
    ofModel: false,
  })
  const toggle = (pos: number) => {
    const next = pieces.includes(pos) ? pieces.filter((one) => one !== pos) : [...pieces, pos]
    setGiven(next.sort((a, b) => a - b).join('.'))
  }
  return (
    <>
      <p className="muted small-text words-note">
        Click the tokens of one entity: “Eiffel Tower”, “carbon dioxide”. Controls are pairs of other tokens
        of this prompt at the same distances. Expect no: an early piece never sees the later ones, and each
        predicts its own next token.
      </p>
      <div className="words-texts">
        <TokenPicks
          label="Tokens of the prompt"
          tokens={run.views}
          chosen={new Set(pieces)}
          onPick={toggle}
        />
      </div>
      {found.isError && (
        <p className="problem work-state" role="alert">
          {found.error.message}
        </p>
      )}
      {pieces.length < 2 && <p className="muted work-state">Two tokens or more make a compound.</p>}
      {found.data && pieces.length > 1 && (
        <div className="words-result is-single">
          <section className="words-chart" aria-label="Pieces and controls along the layers">
            <h3 className="pane-title">
              Pieces beside controls <span>mean cosine of pairs at every border</span>
              <FigureMenu figure={figure} name="the cosines" />
            </h3>
            <BorderChart
              lines={lines}
              border={null}
              label={`Mean cosine of ${count(found.data.pairs)} and of ${count(found.data.controlPairs)} as controls`}
            />
            {found.data.controlPairs === 0 && (
              <p className="warning small-text">
                This prompt has no other pair at these distances; run a longer one for controls.
              </p>
            )}
          </section>
        </div>
      )}
    </>
  )
}

function count(pairs: number): string {
  return `${pairs} ${pairs === 1 ? 'pair' : 'pairs'}`
}
