/**
 * What an encoder–decoder looks at: the encoder's own attention, the decoder's, and the decoder's view of the encoder's
 * text, with target × source axes. One head in large, as weights or as the gradient on them; what ablating it, or knocking
 * one pair out, does to the prediction.
 */
import type { OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import type { AttentionOf } from '../../../core/graph/hook-names.ts'
import { useModel, useRun } from '../../api/queries.ts'
import { useTextThumbnails } from '../../api/two-texts.ts'
import { Thumbnail } from '../../charts/thumbnail.tsx'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { select, useSelection, useTool } from '../../state/store.ts'
import { useTheme } from '../../state/theme.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { range } from '../../ui/range.ts'
import { Segmented } from '../../ui/segmented.tsx'
import '../../ui/bench.css'
import '../../ui/texts.css'
import { TextHead } from './text-head.tsx'

const KINDS: readonly { readonly value: AttentionOf; readonly label: string }[] = [
  { value: 'cross', label: 'decoder → encoder' },
  { value: 'decoder', label: 'decoder' },
  { value: 'encoder', label: 'encoder' },
]

export function TextsView() {
  const model = useModel()
  const run = useRun()
  if (run.isError) return <Failed error={run.error} retry={() => void run.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  if (!model.data.spec.encoder)
    return (
      <Empty title="This model reads one text">
        <p>Open a T5, BART or Marian checkpoint: then the attention of encoder and decoder stands here.</p>
      </Empty>
    )
  if (!run.data?.source)
    return (
      <Empty title="No prompt yet">
        <p>Write the encoder's text and the decoder's above, and run them.</p>
      </Empty>
    )
  return <Texts key={run.data.id} model={model.data} run={run.data} source={run.data.source} />
}

function Texts({
  model,
  run,
  source,
}: {
  model: OpenedModel
  run: RunDetail
  source: NonNullable<RunDetail['source']>
}) {
  const [kind, setKind] = useTool<AttentionOf>('attention', 'cross')
  const of = KINDS.find(({ value }) => value === kind)?.value ?? 'cross'
  const chosen = useSelection((s) => s.head)
  const thumbnails = useTextThumbnails(run.id, of)
  const theme = useTheme()
  if (thumbnails.isError) return <Failed error={thumbnails.error} retry={() => void thumbnails.refetch()} />
  if (!thumbnails.data) return <Waiting text="Reading the patterns…" />
  const { layers, heads } = thumbnails.data
  const head: HeadId = {
    layer: Math.min(chosen?.layer ?? 0, layers - 1),
    head: Math.min(chosen?.head ?? 0, heads - 1),
  }
  return (
    <div className="view sweep-view">
      <div className="toolbar is-wrapping">
        <Segmented label="Attention" value={of} options={KINDS} onChange={setKind} />
        <span className="muted small-text">
          {run.views.length} tokens of the decoder, {source.length} of the encoder
        </span>
      </div>
      <div className="sweep-result texts-result">
        <div className="texts-heads" role="toolbar" aria-label="Heads" aria-orientation="vertical">
          {range(layers)
            .reverse()
            .map((layer) => (
              <div key={layer} className="strip-layer">
                <span className="grid-label">L{layer}</span>
                <div className="strip-heads">
                  {range(heads).map((at) => {
                    const on = sameHead(head, { layer, head: at })
                    return (
                      <button
                        type="button"
                        key={at}
                        className={on ? 'strip-head is-selected' : 'strip-head'}
                        aria-pressed={on}
                        aria-label={`Show ${headName({ layer, head: at })}`}
                        onClick={() => select({ head: { layer, head: at } })}
                      >
                        <Thumbnail
                          thumbnails={thumbnails.data}
                          layer={layer}
                          head={at}
                          theme={theme}
                          size={32}
                        />
                      </button>
                    )
                  })}
                </div>
              </div>
            ))}
        </div>
        <TextHead
          key={`${of} ${headName(head)}`}
          model={model}
          run={run}
          source={source}
          of={of}
          head={head}
        />
      </div>
    </div>
  )
}
