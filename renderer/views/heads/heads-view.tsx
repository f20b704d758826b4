/** The head browser: grid, ranked list, and the selected head's pattern beside them. */

import { useMutation } from '@tanstack/react-query'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { useJobOn } from '../../api/jobs.ts'
import { useModel, useScan, useThumbnails } from '../../api/queries.ts'
import { rampGradient } from '../../charts/color.ts'
import { scanNow } from '../../state/open.ts'
import { parseFilter, rankHeads, scoreLabel } from '../../state/rank.ts'
import { select, useSelection } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Choice } from '../../ui/select.tsx'
import { useSize } from '../../ui/use-size.ts'
import { PatternPanel } from '../pattern/pattern-panel.tsx'
import { COLUMN_LABEL, HeadGrid, ROW_LABEL } from './head-grid.tsx'
import { gridLayout } from './layout.ts'
import { RankedList } from './ranked-list.tsx'

export function HeadsView() {
  const model = useModel()
  if (model.isError) return <Failed error={model.error} retry={() => void model.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  return <HeadBrowser model={model.data} />
}

function HeadBrowser({ model }: { model: OpenedModel }) {
  const scan = useScan()
  const thumbnails = useThumbnails()
  const theme = useTheme()
  const score = useSelection((s) => s.score)
  const wanted = useSelection((s) => s.tiles)
  const typed = useSelection((s) => s.filter)
  const [measure, size] = useSize<HTMLDivElement>()

  const heads = scan.data?.heads ?? null
  const names = Object.keys(heads?.[0]?.scores ?? {})
  const filter = parseFilter(typed, names)
  const ranked = heads ? rankHeads(heads.filter(filter.matches), score) : []
  const layout = gridLayout(model.spec, size, ROW_LABEL, COLUMN_LABEL)
  const tiles = wanted === 'auto' ? (layout.pitch >= 28 ? 'patterns' : 'scores') : wanted

  return (
    <div className="view heads-view">
      <div className="toolbar">
        <span className="field">
          <span>colour</span>
          <Choice
            label="Score that colours the heads"
            value={score}
            options={(names.length ? names : [score]).map((name) => ({
              value: name,
              label: scoreLabel(name),
            }))}
            onChange={(next) => select({ score: next })}
          />
        </span>
        <Segmented
          label="What a tile shows"
          value={tiles}
          options={[
            { value: 'patterns', label: 'Patterns' },
            { value: 'scores', label: 'Scores' },
          ]}
          onChange={(next) => select({ tiles: next })}
        />
        <input
          className="input search"
          type="search"
          aria-label="Find or filter heads"
          placeholder="L1H3 · 1.3 · induction > .5"
          value={typed}
          onChange={(event) => select({ filter: event.target.value }, { replace: true })}
          onKeyDown={(event) => {
            if (
              event.key === 'Enter' &&
              filter.head &&
              filter.head.layer < model.spec.n_layers &&
              filter.head.head < model.spec.n_heads
            )
              select({ head: filter.head, filter: '' })
            else if (event.key === 'Enter' && ranked[0])
              select({ head: { layer: ranked[0].layer, head: ranked[0].head } })
          }}
        />
        {filter.problem && <span className="problem">{filter.problem}</span>}
        {!filter.problem && typed !== '' && heads && (
          <span className="muted">
            {ranked.length} of {heads.length}
          </span>
        )}
        <span className="legend legend-score">
          0 <i style={{ background: rampGradient(theme) }} /> 1
        </span>
      </div>
      <div className={`heads-body ${layout.beside ? 'is-beside' : 'is-stacked'}`} ref={measure}>
        <div className="grid-scroll">
          {size.width > 0 && (
            <HeadGrid
              spec={model.spec}
              heads={heads}
              thumbnails={thumbnails.data ?? null}
              score={score}
              tiles={tiles}
              matches={filter.matches}
              pitch={layout.pitch}
              theme={theme}
            />
          )}
        </div>
        <div className="heads-pattern">
          <PatternPanel compact />
        </div>
        {heads ? (
          <RankedList heads={ranked} score={score} />
        ) : (
          <Unscored model={model} waiting={scan.isPending} />
        )}
      </div>
    </div>
  )
}

function Unscored({ model, waiting }: { model: OpenedModel; waiting: boolean }) {
  const scan = useMutation({ mutationFn: () => scanNow(model) })
  const running = useJobOn('scan', model.path)
  return (
    <section className="ranked" aria-label="Heads ranked">
      <h3 className="pane-title">Ranked</h3>
      {waiting || running || scan.isPending ? (
        <Waiting text="Scoring every head on repeated random tokens…" />
      ) : (
        <Empty title="Not scored yet">
          <p>Runs 32 sequences of random tokens, each twice, and measures where every head looks.</p>
          <button type="button" className="button primary" onClick={() => scan.mutate()}>
            Score {model.spec.n_layers * model.spec.n_heads} heads
          </button>
        </Empty>
      )}
    </section>
  )
}
