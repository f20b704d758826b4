/** Natural-text induction: every head's rate beside its random-repeat score, examples of the selected head, causal check. */

import { useState } from 'react'
import type { OpenedModel, SpansReply, SpansRequest } from '../../../core/api/contract.ts'
import { startWork, useShown } from '../../api/heads.ts'
import { grouped } from '../../state/format.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { useSelection } from '../../state/store.ts'
import { Empty } from '../../ui/notice.tsx'
import { Choice } from '../../ui/select.tsx'
import { CausalCheck } from './causal-check.tsx'
import { HeadRates } from './head-rates.tsx'
import { KeptLine } from './kept-line.tsx'
import { useTexts } from './source.ts'
import { SpanExamples } from './span-examples.tsx'
import { textsText } from './texts.ts'
import { WorkState } from './work-state.tsx'

type Hit = NonNullable<SpansRequest['hit']>

export function SpansPanel({ model }: { model: OpenedModel }) {
  const texts = useTexts()
  const [hit, setHit] = useState<Hit>('strongest')
  const [check, setCheck] = useState(true)
  const work = useShown('spans', model.path)
  const start = () =>
    void startWork(
      'spans',
      { model: model.path, prompts: texts.prompts, hit, check },
      `Places in ${texts.prompts.length} texts`,
    )
  return (
    <>
      <div className="toolbar is-wrapping corpus-run">
        <span className="field">
          <span>hit</span>
          <Choice
            label="What counts as a hit"
            value={hit}
            options={[
              { value: 'strongest', label: 'strongest key is a B' },
              { value: 'weight', label: 'weight on B is 0.2 or more' },
            ]}
            onChange={setHit}
          />
        </span>
        <label className="field">
          <input type="checkbox" checked={check} onChange={(event) => setCheck(event.target.checked)} />
          causal check of the three best
        </label>
        <button
          type="button"
          className="button small primary"
          disabled={texts.prompts.length === 0 || work?.state === 'running'}
          onClick={start}
        >
          Look for induction in {texts.prompts.length} {texts.prompts.length === 1 ? 'text' : 'texts'}
        </button>
      </div>
      {work?.reply ? (
        <>
          <KeptLine id={work.reply.experiment} model={model} />
          <Found model={model} reply={work.reply} request={work.request} />
        </>
      ) : work ? (
        <WorkState kind="spans" work={work} text="Reading the texts, and random repeats beside them…" />
      ) : (
        <Empty title="No text has been read yet">
          <p>
            Choose texts above and press the button: each head gets a rate with its interval, beside its score
            on random repeats, with hits and misses that open as prompts.
          </p>
        </Empty>
      )}
    </>
  )
}

interface FoundProps {
  readonly model: OpenedModel
  readonly reply: SpansReply
  readonly request: SpansRequest
}

function Found({ model, reply, request }: FoundProps) {
  const selected = useSelection((s) => s.head)
  const ranked = [...reply.heads].sort((a, b) => (b.rate.value ?? -1) - (a.rate.value ?? -1))
  const head = reply.heads.find((one) => sameHead(selected, place(one))) ?? ranked[0]!
  const windows = textsText(request.prompts.length, reply.windows.length)
  return (
    <div className="corpus-result">
      <HeadRates
        request={request}
        windows={windows}
        heads={ranked}
        shown={head}
        definitions={reply.definitions}
      >
        {grouped(reply.places)} places in {windows}
      </HeadRates>
      <div className="corpus-side">
        <SpanExamples model={model} reply={reply} prompts={request.prompts} head={head} />
        {reply.causal && <CausalCheck effects={reply.causal} shown={headName(head)} />}
        {reply.warnings.map((warning) => (
          <p key={warning} className="warning small-text">
            {warning}
          </p>
        ))}
      </div>
    </div>
  )
}

function place({ layer, head }: HeadId): HeadId {
  return { layer, head }
}
