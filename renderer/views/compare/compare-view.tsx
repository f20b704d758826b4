/**
 * Two checkpoints on the same texts: identical or not, which heads changed beyond noise, where the predictions part, and
 * the signed difference of the selected head's pattern. In: two checkpoints, texts. Out: numbers, and a report as HTML.
 */
import { useState } from 'react'
import type { OpenedModel, PromptInput } from '../../../core/api/contract.ts'
import { startWork, useShown } from '../../api/heads.ts'
import { useLibrary, useModel, useRun } from '../../api/queries.ts'
import { useTool } from '../../state/store.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { KeptLine } from '../corpus/kept-line.tsx'
import { setSource, useTexts } from '../corpus/source.ts'
import { WorkState } from '../corpus/work-state.tsx'
import { CheckpointField } from './checkpoint-field.tsx'
import { CompareResult } from './compare-result.tsx'
import '../../ui/corpus.css'

/** Texts of the corpus that are compared: enough for an interval over prompts, few enough to wait for. */
const TEXTS = 16

export function CompareView() {
  const model = useModel()
  if (model.isError) return <Failed error={model.error} retry={() => void model.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  return <Pair model={model.data} />
}

function Pair({ model }: { model: OpenedModel }) {
  const library = useLibrary().data
  const run = useRun().data
  const texts = useTexts()
  const [over, setOver] = useTool<'texts' | 'prompt'>('over', 'texts')
  const [match, setMatch] = useState(false)
  const [maps, setMaps] = useState(false)
  // The shown checkpoint against the first step of its series, until something else is chosen.
  const [a, setA] = useTool<string>('a', firstOther(model))
  const [b, setB] = useTool<string>('b', model.path)
  const work = useShown('compare', null)
  const prompts: readonly PromptInput[] =
    over === 'texts' ? texts.prompts.slice(0, TEXTS) : run ? [{ ids: run.views.map(({ id }) => id) }] : []
  const start = () =>
    void startWork(
      'compare',
      {
        a: a.trim(),
        b: b.trim(),
        prompts,
        report: true,
        ...(match ? { match } : {}),
        ...(maps ? { weights: ['ov', 'qk'] } : {}),
      },
      'Comparing two checkpoints',
    )
  return (
    <section className="view sweep-view" aria-label="Compare">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          start()
        }}
      >
        <div className="toolbar is-wrapping">
          <CheckpointField label="A" library={library} value={a} onChange={setA} />
          <button
            type="button"
            className="icon-button"
            aria-label="Exchange A and B"
            title="Exchange A and B"
            onClick={() => {
              setA(b)
              setB(a)
            }}
          >
            ⇄
          </button>
          <CheckpointField label="B" library={library} value={b} onChange={setB} />
          <button
            type="submit"
            className="button small primary"
            disabled={a.trim() === '' || b.trim() === '' || prompts.length === 0 || work?.state === 'running'}
          >
            Compare
          </button>
        </div>
        <div className="toolbar is-wrapping">
          <span className="field">
            <span>on</span>
            <Segmented
              label="Texts that are compared"
              value={over}
              options={[
                {
                  value: 'texts',
                  label: `${Math.min(TEXTS, texts.prompts.length)} texts of the Corpus tab`,
                  disabled: texts.prompts.length === 0,
                },
                { value: 'prompt', label: 'this prompt', disabled: !run },
              ]}
              onChange={setOver}
            />
          </span>
          {over === 'texts' && texts.prompts.length === 0 && !texts.loading && (
            <button type="button" className="button small" onClick={() => setSource({ kind: 'prose' })}>
              Take the bundled prose
            </button>
          )}
          <label className="field">
            <input type="checkbox" checked={maps} onChange={(event) => setMaps(event.target.checked)} />
            OV and QK maps
          </label>
          <label className="field" title="For two trainings: which head of B does what a head of A does.">
            <input type="checkbox" checked={match} onChange={(event) => setMatch(event.target.checked)} />
            match heads by behaviour
          </label>
        </div>
      </form>
      {work?.reply ? (
        <>
          <KeptLine id={work.reply.experiment} model={null} />
          <CompareResult key={work.reply.experiment} reply={work.reply} request={work.request} />
        </>
      ) : work ? (
        <WorkState kind="compare" work={work} text="Reading the same texts with both…" />
      ) : (
        <Empty title="Nothing has been compared yet">
          <p>
            Choose two checkpoints: two steps of a series, a fine-tune and its base, a GGUF and its original.
            Heads are ranked by how much they changed, and what is within the noise is not ranked.
          </p>
        </Empty>
      )}
    </section>
  )
}

/** An earlier member of the series; none: empty, for the person to choose. */
function firstOther(model: OpenedModel): string {
  const others = model.series.filter(({ path }) => path !== model.path)
  return others[Math.floor(others.length / 3)]?.path ?? ''
}
