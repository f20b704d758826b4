/**
 * The residual stream, layer over layer: what the model would say at every block border (logit lens), one lane a position.
 * In: the selected run. Out: a table of cells with their top token; one cell in detail, and who wrote it.
 */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { LensReply, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { useModel, useRun } from '../../api/queries.ts'
import { rampGradient } from '../../charts/color.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { formatToken, parseToken } from '../../state/metric.ts'
import { setTool, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { TokenField } from '../sweeps/token-field.tsx'
import { LensCard } from './lens-card.tsx'
import { lensBody } from './lens-figure.ts'
import { type LensColour, LensTable } from './lens-table.tsx'

/** Positions that are asked for at once. */
const PAGE = 64

const COLOURS: Readonly<Record<LensColour, string>> = {
  probability: 'probability of the likeliest token, 0 to 1',
  entropy: 'entropy, from sure to even over the vocabulary',
  loss: 'loss at the token that follows, 0 to 8 nats',
  answer: 'probability of the answer',
}

export function ResidualView() {
  const model = useModel()
  const run = useRun()
  if (run.isError) return <Failed error={run.error} retry={() => void run.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  if (!run.data)
    return (
      <Empty title="No prompt yet">
        <p>Run a prompt above: every position then shows what the model would say after each layer.</p>
      </Empty>
    )
  return <Lanes key={run.data.id} model={model.data} run={run.data} />
}

function Lanes({ model, run }: { model: OpenedModel; run: RunDetail }) {
  const theme = useTheme()
  const [colour, setColour] = useTool<LensColour>('lens', 'probability')
  const given = useSelection((s) => s.tool.answer)
  const locked = useSelection((s) => s.query)
  const pages = Math.ceil(run.views.length / PAGE)
  const [page, setPage] = useState(Math.floor((locked ?? 0) / PAGE))
  const answer = parseToken(given ?? '')
  const from = page * PAGE
  const positions = Array.from({ length: Math.min(PAGE, run.views.length - from) }, (_, i) => from + i)
  const request = {
    model: model.path,
    prompt: { ids: run.views.map((view) => view.id) },
    positions,
    top: 5,
    ...(answer ? { answer: answer.id } : {}),
  }
  const lens = useQuery({
    queryKey: ['lens', run.id, model.path, page, answer?.id ?? null],
    queryFn: ({ signal }): Promise<LensReply> => api.lens(request, signal),
    placeholderData: keepPreviousData,
    retry: false,
  })
  const [cell, setCell] = useTool<string>('border', '')
  const border = /^\d+$/.test(cell) ? Math.min(Number(cell), model.spec.n_layers) : null
  const likely = run.predictions.at(-1)?.topTokens ?? []
  const figure = (): Figure => ({
    title: `logit lens${pages > 1 ? `, positions ${from}–${from + positions.length - 1}` : ''}`,
    note: `What the model would say at each block border. Rows are borders, from what enters block 0 (in) to the end; columns positions. Colour: ${COLOURS[colour]}${colour === 'answer' && answer ? ` ‘${answer.text}’` : ''}.`,
    facts: [lens.data?.definition ?? ''],
    body: () => lensBody({ lens: lens.data!, views: run.views, vocab: model.spec.d_vocab, colour }),
    table: () => ({
      columns: [
        'border',
        'position',
        'token',
        'top_token',
        'top_probability',
        'entropy',
        'loss',
        'answer_probability',
        'answer_rank',
      ],
      rows: (lens.data?.layers ?? []).flatMap(({ layer, positions: cells }) =>
        cells.map((one) => [
          layer,
          one.pos,
          run.views[one.pos]?.text ?? '',
          one.top[0] ? (lens.data?.words[one.top[0].id]?.text ?? String(one.top[0].id)) : null,
          one.top[0]?.prob ?? null,
          one.entropy,
          one.loss,
          one.prob,
          one.rank,
        ]),
      ),
    }),
    reproduce: { kind: 'lens', request },
  })
  return (
    <div className="view sweep-view">
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
            ]}
            onChange={setColour}
          />
        </span>
        <TokenField
          label="answer"
          model={model}
          value={answer}
          likely={likely}
          onChange={(token) => {
            setTool('answer', formatToken(token))
            setColour('answer')
          }}
        />
        {pages > 1 && (
          <span className="field">
            <button
              type="button"
              className="button small"
              disabled={page === 0}
              onClick={() => setPage(page - 1)}
            >
              ←
            </button>
            <span>
              positions {from}–{from + positions.length - 1} of {run.views.length}
            </span>
            <button
              type="button"
              className="button small"
              disabled={page === pages - 1}
              onClick={() => setPage(page + 1)}
            >
              →
            </button>
          </span>
        )}
        <span className="legend" title={lens.data?.definition}>
          {{ probability: '0', entropy: 'sure', loss: '0', answer: '0' }[colour]}
          <i style={{ background: rampGradient(theme) }} />
          {{ probability: '1', entropy: 'even', loss: '8 nats', answer: '1' }[colour]}
        </span>
        {lens.data && <FigureMenu figure={figure} name="the lanes" />}
      </div>
      {lens.isError ? (
        <Failed error={lens.error} retry={() => void lens.refetch()} />
      ) : !lens.data ? (
        <Waiting text="Reading the residual stream through the unembedding…" />
      ) : (
        <div className="sweep-result">
          <LensTable
            lens={lens.data}
            run={run}
            vocab={model.spec.d_vocab}
            colour={colour}
            border={border}
            onPick={(next) => setCell(next === null ? '' : String(next))}
          />
          <aside className="sweep-side">
            <LensCard model={model} run={run} lens={lens.data} border={border} />
          </aside>
        </div>
      )}
    </div>
  )
}
