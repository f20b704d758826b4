/** The strongest examples of every head over the texts: its edges, and the texts in which it looks away from the start. */
import type { CorpusReply, CorpusRequest, OpenedModel } from '../../../core/api/contract.ts'
import { startWork, useShown } from '../../api/heads.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { preciseWeight } from '../../state/format.ts'
import { headName } from '../../state/selection.ts'
import { useSelection } from '../../state/store.ts'
import { Empty } from '../../ui/notice.tsx'
import { ExampleRow } from './example-row.tsx'
import { examplesFigure } from './examples-figure.ts'
import { HeadLines } from './head-lines.tsx'
import { KeptLine } from './kept-line.tsx'
import { openExample } from './open-example.ts'
import { PickFields } from './pick-fields.tsx'
import { choicesOf, usePicks } from './picks.ts'
import { useTexts } from './source.ts'
import { textsText } from './texts.ts'
import { WorkState } from './work-state.tsx'

const KEPT = 20

/** What is listed, in words. */
const DEFINITION =
  'the largest weights, one for each pair of tokens and text; edges to the first position and to itself are left out'

export function ExamplesPanel({ model }: { model: OpenedModel }) {
  const texts = useTexts()
  const picks = usePicks('examples')
  const work = useShown('examples', model.path)
  const start = () =>
    void startWork(
      'examples',
      { model: model.path, prompts: texts.prompts, keep: KEPT, ...choicesOf(picks) },
      `Examples in ${texts.prompts.length} texts`,
    )
  return (
    <>
      <div className="toolbar is-wrapping corpus-run">
        <PickFields asker="examples" />
        <button
          type="button"
          className="button small primary"
          disabled={texts.prompts.length === 0 || work?.state === 'running'}
          onClick={start}
        >
          Find the strongest in {texts.prompts.length} {texts.prompts.length === 1 ? 'text' : 'texts'}
        </button>
      </div>
      {work?.reply ? (
        <>
          <KeptLine id={work.reply.experiment} model={model} />
          <Found model={model} reply={work.reply} request={work.request} />
        </>
      ) : work ? (
        <WorkState kind="examples" work={work} text="Reading the texts…" />
      ) : (
        <Empty title="No examples yet">
          <p>
            Every head keeps its {KEPT} strongest edges over the texts: {DEFINITION}.
          </p>
        </Empty>
      )}
    </>
  )
}

interface FoundProps {
  readonly model: OpenedModel
  readonly reply: CorpusReply
  readonly request: CorpusRequest
}

function Found({ model, reply, request }: FoundProps) {
  const { prompts } = request
  // Where no text was cut into windows, a window is its text.
  const textOf = (window: number) =>
    reply.tokens.length === prompts.length ? prompts[window]?.text : undefined
  const selected = useSelection((s) => (s.head ? headName(s.head) : null))
  const about = `over ${textsText(prompts.length, reply.tokens.length)}; ${DEFINITION}`
  const lines = reply.heads
    .map(({ layer, head, edges }) => ({
      layer,
      head,
      value: edges[0]?.weight ?? null,
      title: `strongest edge ${edges[0] ? preciseWeight(edges[0].weight) : 'none of this kind'}; ${about}`,
    }))
    .sort((a, b) => (b.value ?? -1) - (a.value ?? -1))
  const shown = reply.heads.find((one) => headName(one) === selected) ?? reply.heads[0]!
  const name = headName(shown)
  return (
    <div className="corpus-result is-narrow">
      <section className="corpus-main" aria-label="Heads by strongest edge">
        <h3 className="pane-title">
          Heads <span>by strongest edge</span>
        </h3>
        <HeadLines lines={lines} shown={name} />
      </section>
      <div className="corpus-side">
        <section className="corpus-examples" aria-label={`Strongest examples of ${name}`}>
          <h3 className="pane-title">
            {name}{' '}
            <span title={about}>
              {shown.edges.length} strongest edges; the marked tokens are key and query
            </span>
            <FigureMenu
              name="the examples"
              figure={() => examplesFigure({ reply, request, head: shown, about })}
            />
          </h3>
          {shown.edges.length === 0 && <p className="muted">No edge of this kind in these texts.</p>}
          <ol>
            {shown.edges.map(({ prompt, query, key, weight }) => (
              <ExampleRow
                key={`${prompt} ${query} ${key}`}
                tokens={reply.tokens[prompt] ?? []}
                query={query}
                at={key}
                weight={weight}
                onOpen={() =>
                  openExample(model, reply.tokens[prompt] ?? [], textOf(prompt), shown, query, key)
                }
              />
            ))}
          </ol>
        </section>
        <section className="corpus-examples" aria-label={`Texts of ${name}`}>
          <h3 className="pane-title">
            Texts <span>mean weight away from the first position</span>
          </h3>
          <ol>
            {shown.texts.slice(0, 5).map(({ prompt, mean }) => (
              <ExampleRow
                key={prompt}
                tokens={reply.tokens[prompt] ?? []}
                query={null}
                at={0}
                weight={mean}
                onOpen={() => openExample(model, reply.tokens[prompt] ?? [], textOf(prompt), shown, 0, null)}
              />
            ))}
          </ol>
        </section>
      </div>
    </div>
  )
}
