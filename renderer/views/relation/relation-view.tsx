/**
 * Does a head's query favour the target over the distractor? In: the shipped sentences, an own template, or triples of
 * positions. Out: a grid and a ranked list of heads: mean difference, share won, corrected p. A click selects the head.
 */
import { useQuery } from '@tanstack/react-query'
import { type DragEvent, useState } from 'react'
import type { OpenedModel, RelationRequest } from '../../../core/api/contract.ts'
import { headsApi, startWork, useShown } from '../../api/heads.ts'
import { useModel } from '../../api/queries.ts'
import { useTool } from '../../state/store.ts'
import { Empty, Failed, Waiting } from '../../ui/notice.tsx'
import { Segmented } from '../../ui/segmented.tsx'
import { KeptLine } from '../corpus/kept-line.tsx'
import { WorkState } from '../corpus/work-state.tsx'
import { RelationResult } from './relation-result.tsx'
import { formatSlots, formatTexts, parseTemplate, parseTriples, type Template } from './triples.ts'
import { setTyped, useTyped } from './typed.ts'
import '../../ui/corpus.css'

type From = 'example' | 'template' | 'triples'

export function RelationView() {
  const model = useModel()
  const example = useQuery({ queryKey: ['relation-example'], queryFn: headsApi.relationExample })
  const problem = model.error ?? example.error
  if (problem)
    return <Failed error={problem} retry={() => void Promise.all([model.refetch(), example.refetch()])} />
  if (!model.data || !example.data) return <Waiting text="Opening the checkpoint…" />
  return <Probe key={model.data.path} model={model.data} example={example.data} />
}

function Probe({ model, example }: { model: OpenedModel; example: Template }) {
  const [from, setFrom] = useTool<From>('relation', 'example')
  const [problem, setProblem] = useState<string | null>(null)
  const typed = useTyped()
  const texts = typed.texts ?? formatTexts(example)
  const slots = typed.slots ?? formatSlots(example.slots)
  const work = useShown('relation', model.path)
  const start = () => {
    setProblem(null)
    try {
      const asked: Omit<RelationRequest, 'model'> =
        from === 'example'
          ? {}
          : from === 'template'
            ? { template: parseTemplate(texts, slots) }
            : { triples: parseTriples(typed.triples) }
      void startWork('relation', { model: model.path, ...asked }, 'Relation probe')
    } catch (error) {
      setProblem((error as Error).message)
    }
  }
  const onDrop = async (event: DragEvent) => {
    const file = event.dataTransfer.files[0]
    if (!file) return
    event.preventDefault()
    setFrom('triples')
    setTyped({ triples: await file.text() })
  }
  return (
    <section
      className="view sweep-view"
      aria-label="Relation"
      onDragOver={(event) => {
        if (event.dataTransfer.types.includes('Files')) event.preventDefault()
      }}
      onDrop={(event) => void onDrop(event)}
    >
      <div className="toolbar is-wrapping">
        <Segmented
          label="Sentences"
          value={from}
          options={[
            { value: 'example', label: 'shipped example' },
            { value: 'template', label: 'own template' },
            { value: 'triples', label: 'own triples' },
          ]}
          onChange={setFrom}
        />
        <button
          type="button"
          className="button small primary"
          disabled={work?.state === 'running'}
          onClick={start}
        >
          Probe the heads
        </button>
        {problem !== null && (
          <span className="problem" role="alert">
            {problem}
          </span>
        )}
      </div>
      {from === 'example' && <Example template={example} />}
      {from === 'template' && (
        <div className="relation-fields">
          <label>
            <span className="muted small-text">
              sentences, one a line, with {'{query}'}, {'{target}'}, {'{distractor}'} and other slots
            </span>
            <textarea
              className="input editor-text"
              rows={4}
              spellCheck={false}
              value={texts}
              onChange={(event) => setTyped({ texts: event.target.value })}
            />
          </label>
          <label>
            <span className="muted small-text">words of each slot: every combination is a sentence</span>
            <textarea
              className="input editor-text"
              rows={4}
              spellCheck={false}
              value={slots}
              onChange={(event) => setTyped({ slots: event.target.value })}
            />
          </label>
        </div>
      )}
      {from === 'triples' && (
        <div className="relation-fields is-single">
          <label>
            <span className="muted small-text">
              a JSON object a line, with positions of tokens; paste it, or drop a file here
            </span>
            <textarea
              className="input editor-text"
              rows={5}
              spellCheck={false}
              placeholder='{"text": "A green forest surrounded the blue creature", "query": 7, "target": 6, "distractor": 2}'
              value={typed.triples}
              onChange={(event) => setTyped({ triples: event.target.value })}
            />
          </label>
        </div>
      )}
      {work?.reply ? (
        <>
          <KeptLine id={work.reply.experiment} model={model} />
          <RelationResult model={model} request={work.request} report={work.reply} />
        </>
      ) : work ? (
        <WorkState kind="relation" work={work} text="Reading the sentences…" />
      ) : (
        <Empty title="No probe has run yet">
          <p>
            In “A green forest surrounded the blue creature”, does the query “creature” attend to “blue” (the
            target) more than to “green” (the distractor)? Press the button to ask all{' '}
            {model.spec.n_layers * model.spec.n_heads} heads.
          </p>
        </Empty>
      )}
    </section>
  )
}

/** The sentences as they are, with the three that count marked. */
function Example({ template }: { template: Template }) {
  return (
    <div className="relation-example">
      {formatTexts(template)
        .split('\n')
        .map((text) => (
          <p key={text}>
            {text.split(/(\{\w+\})/).map((part, i) => {
              const slot = /^\{(\w+)\}$/.exec(part)?.[1]
              return slot === undefined ? (
                part
              ) : (
                <span
                  // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place in the sentence
                  key={i}
                  className={`slot slot-${['query', 'target', 'distractor'].includes(slot) ? slot : 'other'}`}
                  title={`${slot}: ${(template.slots[slot] ?? []).join(', ')}`}
                >
                  {template.slots[slot]?.[0] ?? part}
                </span>
              )
            })}
          </p>
        ))}
      <p className="muted small-text">
        <span className="slot slot-query">query</span> should look at its{' '}
        <span className="slot slot-target">target</span> more than at the{' '}
        <span className="slot slot-distractor">distractor</span>. {template.note}
      </p>
    </div>
  )
}
