/**
 * What the model makes of words: directions of the embedding, one token in several prompts, pieces of a compound. In: the
 * selected checkpoint; for the last one its prompt. Out: neighbours, cosines along the layers, and who wrote what.
 */
import { useModel } from '../../api/queries.ts'
import { useTool } from '../../state/store.ts'
import { Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { Compound } from './compound.tsx'
import { Contexts } from './contexts.tsx'
import { Directions } from './directions.tsx'
import '../../ui/corpus.css'
import '../../ui/words.css'

type Asks = 'directions' | 'contexts' | 'compound'

export function WordsView() {
  const model = useModel()
  const [asks, setAsks] = useTool<Asks>('words', 'directions')
  if (model.isError) return <Failed error={model.error} retry={() => void model.refetch()} />
  if (!model.data) return <Waiting text="Opening the checkpoint…" />
  const Panel = { directions: Directions, contexts: Contexts, compound: Compound }[asks]
  return (
    <section className="view words-view" aria-label="Words">
      <div className="toolbar corpus-asks">
        <Segmented
          label="What is asked of words"
          value={asks}
          options={[
            { value: 'directions', label: 'directions' },
            { value: 'contexts', label: 'one word, several texts' },
            { value: 'compound', label: 'pieces of a name' },
          ]}
          onChange={setAsks}
        />
      </div>
      <Panel key={model.data.path} model={model.data} />
    </section>
  )
}
