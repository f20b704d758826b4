/**
 * What heads do in many texts: induction in natural text with its causal check, the strongest examples of each head, and
 * a search over stored runs. In: the bundled prose, a paste or a file. Out: numbers with intervals, and examples that open.
 */
import { type DragEvent, useState } from 'react'
import { useModel } from '../../api/queries.ts'
import { useTool } from '../../state/store.ts'
import { Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { ExamplesPanel } from './examples-panel.tsx'
import { SearchPanel } from './search-panel.tsx'
import { takeFile } from './source.ts'
import { SourceBar } from './source-bar.tsx'
import { SpansPanel } from './spans-panel.tsx'
import '../../ui/corpus.css'

type Asks = 'induction' | 'examples' | 'search'

export function CorpusView() {
  const model = useModel()
  const [asks, setAsks] = useTool<Asks>('corpus', 'induction')
  const [over, setOver] = useState(false)
  if (model.isError) return <Failed error={model.error} retry={() => void model.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  const hasFile = (event: DragEvent) => event.dataTransfer.types.includes('Files')
  const Panel = { induction: SpansPanel, examples: ExamplesPanel, search: SearchPanel }[asks]
  return (
    <section
      className={over ? 'view corpus-view is-over' : 'view corpus-view'}
      aria-label="Corpus"
      onDragOver={(event) => {
        if (!hasFile(event)) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false)
      }}
      onDrop={(event) => {
        if (!hasFile(event)) return
        event.preventDefault()
        setOver(false)
        const file = event.dataTransfer.files[0]
        if (file) void takeFile(file)
      }}
    >
      <div className="toolbar corpus-asks">
        <Segmented
          label="What is asked of the texts"
          value={asks}
          options={[
            { value: 'induction', label: 'induction' },
            { value: 'examples', label: 'strongest examples' },
            { value: 'search', label: 'search' },
          ]}
          onChange={setAsks}
        />
        <span className="muted small-text clip">
          {
            {
              induction: 'where the text has A B … A: does a head look back at B, and does the model say B?',
              examples: 'the edges of each head with the largest weight, and the texts that move it most',
              search: 'heads where one kind of token attends to another, over the stored runs',
            }[asks]
          }
        </span>
      </div>
      {asks !== 'search' && <SourceBar />}
      <Panel key={model.data.path} model={model.data} />
    </section>
  )
}
