/** One head of one attention in large: its weights or the gradient on them, the chosen row, and what edits of it do. */
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { GridReply, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { type AttentionOf, attentionHook } from '../../../core/graph/hook-names.ts'
import type { Edit } from '../../../core/run/types.ts'
import { patternGradient, useTextPattern } from '../../api/two-texts.ts'
import { rampGradient, signedGradient } from '../../charts/color.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { preciseWeight, signedWeight } from '../../state/format.ts'
import { promptOf } from '../../state/prompt-of.ts'
import { type HeadId, headName } from '../../state/selection.ts'
import { useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { ProbabilityBar } from '../../ui/bars.tsx'
import { Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { extent } from '../bench/matrix.ts'
import { matrixBody } from '../bench/matrix-figure.ts'
import { type Cell, MatrixGrid } from '../bench/matrix-grid.tsx'
import { TwoPredictions } from '../sweeps/two-predictions.tsx'
import { PatchSource } from './patch-source.tsx'

interface Props {
  readonly model: OpenedModel
  readonly run: RunDetail
  readonly source: NonNullable<RunDetail['source']>
  readonly of: AttentionOf
  readonly head: HeadId
}

type Change = 'head' | 'pair' | 'patch'

const KEYS = 10

const AXES: Readonly<Record<AttentionOf, readonly [string, string]>> = {
  cross: ['target', 'source'],
  decoder: ['query', 'key'],
  encoder: ['query', 'key'],
}

export function TextHead({ model, run, source, of, head }: Props) {
  const theme = useTheme()
  const [shown, setShown] = useTool<'weights' | 'gradient'>('texts_show', 'weights')
  const [change, setChange] = useTool<Change>('texts_change', 'head')
  const [cell, setCell] = useState<Cell | null>(null)
  const [hovered, setHovered] = useState<Cell | null>(null)
  const [other, setOther] = useState<readonly number[] | null>(null)
  const rows = of === 'encoder' ? source : run.views
  const columns = of === 'decoder' ? run.views : source
  const axes = AXES[of]
  const pattern = useTextPattern(run.id, of, head)
  const last = run.views.length - 1
  const pos = of === 'encoder' ? last : Math.min(cell?.row ?? last, last)
  const [answer, wrong] = run.predictions[pos]?.topTokens ?? []
  const asGradient = shown === 'gradient'
  const gradient = useQuery({
    queryKey: ['pattern-gradient', run.id, of, head, pos, answer?.id, wrong?.id],
    queryFn: ({ signal }) =>
      patternGradient(
        {
          model: model.path,
          prompt: promptOf(run),
          of,
          ...head,
          metric: { kind: 'logit_diff', pos, answer: answer!.id, wrong: wrong!.id },
        },
        signal,
      ),
    enabled: asGradient && answer !== undefined && wrong !== undefined,
    retry: false,
  })
  if (pattern.isError) return <Failed error={pattern.error} retry={() => void pattern.refetch()} />
  if (!pattern.data) return <Waiting text={`Reading ${headName(head)}…`} />
  if (asGradient && gradient.isError)
    return <Failed error={gradient.error} retry={() => void gradient.refetch()} />

  const weights = pattern.data
  const grid: GridReply = asGradient ? (gradient.data?.gradient ?? weights) : weights
  const signed = asGradient && gradient.data !== undefined
  const { end, largest } = signed ? extent(grid.values) : { end: 1, largest: 1 }
  const scale = signed ? 'signed' : 'weight'
  const query = Math.min(cell?.row ?? rows.length - 1, rows.length - 1)
  const at = hovered ?? cell
  const value = at ? (grid.values[at.row * grid.shape[1] + at.column] ?? null) : null
  const z = attentionHook(of, head.layer, 'hook_z')
  const edits: Edit[] =
    change === 'head'
      ? [{ hook: z, head: head.head, op: 'zero' }]
      : change === 'pair'
        ? cell
          ? [
              {
                hook: attentionHook(of, head.layer, 'hook_attn_scores'),
                head: head.head,
                query: cell.row,
                key: cell.column,
                op: 'set',
                value: '-inf',
              },
            ]
          : []
        : other
          ? [
              {
                hook: z,
                head: head.head,
                op: 'set',
                from: { ids: other, decoder_ids: run.views.map((v) => v.id) },
              },
            ]
          : []
  const what = { cross: 'view of the source', decoder: 'decoder', encoder: 'encoder' }[of]
  const title = `${signed ? 'gradient on the pattern' : 'attention pattern'} of ${headName(head)}, ${what}`
  const figure = (): Figure => ({
    title,
    note: `Rows: ${axes[0]}, columns: ${axes[1]}. ${signed ? `∂ (logit ‘${answer?.text}’ − logit ‘${wrong?.text}’) / ∂ weight, after position ${pos}` : 'Each row sums to 1'}.`,
    body: () => matrixBody({ grid, axes, tokens: rows, columnTokens: columns, scale, end }),
    table: () => ({
      columns: [...axes, 'value'],
      rows: grid.values.map((one, n) => [Math.floor(n / grid.shape[1]), n % grid.shape[1], one]),
    }),
    reproduce: null,
  })
  const label = (axis: 0 | 1, index: number) =>
    `${axes[axis]} ${index} ‘${(axis === 0 ? rows : columns)[index]?.text ?? ''}’`
  return (
    <>
      <section className="sweep-main" aria-label={`Pattern of ${headName(head)}, ${what}`}>
        <div className="bench-head">
          <h3 className="pane-title">
            {headName(head)} <span>{what}</span>
            <span>
              {axes[0]} {grid.shape[0]} × {axes[1]} {grid.shape[1]}
            </span>
          </h3>
          <Segmented
            label="What a cell says"
            value={shown}
            options={[
              { value: 'weights', label: 'weights' },
              { value: 'gradient', label: 'gradient' },
            ]}
            onChange={setShown}
          />
          <span className="legend">
            {signed ? `−${preciseWeight(end)}` : '0'}
            <i style={{ background: signed ? signedGradient(theme) : rampGradient(theme) }} />
            {signed ? `+${preciseWeight(end)}` : '1'}
          </span>
          <FigureMenu figure={figure} />
        </div>
        <p className="bench-reading" role="status">
          {at ? (
            <>
              {label(0, at.row)} → {label(1, at.column)}{' '}
              <b>{value === null ? 'hidden' : signed ? signedWeight(value) : preciseWeight(value)}</b>
            </>
          ) : (
            <span className="muted">
              {signed
                ? `What raising a weight does to logit ‘${answer?.text}’ − ‘${wrong?.text}’ after ${pos}; largest ${preciseWeight(largest)}`
                : 'Hover a cell for its weight; click to lock it.'}
            </span>
          )}
        </p>
        <MatrixGrid
          label={title}
          grid={grid}
          axes={axes}
          tokens={rows}
          columnTokens={columns}
          scale={scale}
          end={end}
          theme={theme}
          marked={{ row: cell?.row ?? null, column: cell?.column ?? null }}
          hovered={hovered}
          onHover={setHovered}
          onPick={setCell}
        />
      </section>
      <aside className="sweep-side">
        <Row weights={weights} query={query} label={label(0, query)} keys={columns} />
        <h3 className="pane-title">After {pos}</h3>
        <Segmented
          label="What is changed"
          value={change}
          options={[
            { value: 'head', label: 'ablate' },
            { value: 'pair', label: 'knock out' },
            { value: 'patch', label: 'patch' },
          ]}
          onChange={setChange}
        />
        {change === 'patch' && <PatchSource model={model} length={source.length} onGive={setOther} />}
        {change === 'pair' && !cell && (
          <p className="muted small-text">Click the pair that this head shall not see.</p>
        )}
        {edits.length > 0 && (
          <TwoPredictions
            model={model}
            prompt={promptOf(run)}
            edits={edits}
            pos={pos}
            names={['as it is', { head: 'head zero', pair: 'pair hidden', patch: 'patched' }[change]]}
          />
        )}
      </aside>
    </>
  )
}

/** Weights of one row, the largest first. */
function Row({
  weights,
  query,
  label,
  keys,
}: {
  weights: GridReply
  query: number
  label: string
  keys: RunDetail['views']
}) {
  const width = weights.shape[1]
  const row = keys
    .map((token, key) => ({ token, key, weight: weights.values[query * width + key] ?? null }))
    .filter((one): one is typeof one & { weight: number } => one.weight !== null)
    .sort((a, b) => b.weight - a.weight)
    .slice(0, KEYS)
  return (
    <section className="prediction" aria-label={`Weights of ${label}`}>
      <h3 className="pane-title">{label} looks at</h3>
      <ol className="prediction-list is-single">
        {row.map(({ token, key, weight }) => (
          <li key={key}>
            <span className="clip">
              <i className="index">{key}</i> <span className="token-text">{token.text}</span>
            </span>
            <ProbabilityBar value={weight} look="base" />
          </li>
        ))}
      </ol>
    </section>
  )
}
