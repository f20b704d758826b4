/** Writes the prompt: as text, shown with its tokens and ids while typing, or as ids. Problems stand where they arise. */
import { Checkbox } from '@base-ui/react/checkbox'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import { type FormEvent, useDeferredValue, useState } from 'react'
import type { OpenedModel, PromptInput, RunDetail } from '../../../core/api/contract.ts'
import { ApiFailure, api } from '../../api/client.ts'
import { runOn } from '../../state/open.ts'
import { readingOf } from '../../state/prompt-again.ts'
import { lengthWarning } from '../../state/prompt-length.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { parseIds } from './parse-ids.ts'
import { TokenCard } from './token-card.tsx'
import '../../ui/texts.css'

interface Props {
  readonly model: OpenedModel
  readonly run: RunDetail | null
  readonly onClose?: () => void
}

export function PromptEditor({ model, run, onClose }: Props) {
  const { tokenizer } = model
  const startsWithText = tokenizer !== null && (run === null || run.text !== null)
  const [mode, setMode] = useState<'text' | 'ids'>(startsWithText ? 'text' : 'ids')
  const [text, setText] = useState(run?.text ?? '')
  const [ids, setIds] = useState((run?.source ?? run?.views)?.map((v) => v.id).join(', ') ?? '')
  const second = model.spec.encoder !== undefined
  const [decoder, setDecoder] = useState(decoderStart(model, run, startsWithText))
  const canBos = tokenizer !== null && tokenizer.bosToken !== null
  const [chosenPlain, setPlain] = useState<boolean | null>(null)
  // A shown run says by its tokens how its text was read.
  const reading = useQuery({
    queryKey: ['reading-of', run?.id],
    queryFn: () =>
      readingOf(
        run!.model,
        run!.text!,
        (run!.source ?? run!.views).map(({ id }) => id),
      ),
    enabled: tokenizer !== null && run !== null && run.text !== null,
    retry: false,
  }).data
  const plain = chosenPlain ?? reading?.specials === 'text'
  const [chosen, setChosen] = useState<number | null>(null)
  const [bos, setBos] = useState(canBos && (run ? beginsWithBos(run) : tokenizer.addsBos))

  // `auto` where it means the same, so that a prompt that was run before is found again.
  const choice = bos === (tokenizer?.addsBos ?? false) ? 'auto' : bos ? 'yes' : 'no'
  const specials = plain ? { specials: 'text' as const } : {}
  const asked = useDeferredValue(text)
  const tokens = useQuery({
    queryKey: ['tokenize', model.path, asked, choice, plain],
    queryFn: ({ signal }) =>
      api.tokenize({ model: model.path, text: asked, bos: choice, ...specials }, signal),
    enabled: mode === 'text' && asked !== '' && tokenizer !== null,
    placeholderData: keepPreviousData,
    gcTime: 10_000,
    retry: false,
  })
  const parsed = parseIds(ids, model.spec.d_vocab)
  const ownIds = parseIds(decoder, model.spec.d_vocab)
  const running = useMutation({
    mutationFn: (prompt: PromptInput) => runOn(model, prompt),
    onSuccess: () => onClose?.(),
  })

  const problem =
    (mode === 'ids' && ids !== '' ? parsed.problem : null) ??
    (mode === 'ids' && second && decoder !== '' ? ownIds.problem : null) ??
    (mode === 'text' && tokens.isError ? tokens.error.message : null) ??
    (running.error && !(running.error instanceof ApiFailure && running.error.code === 'cancelled')
      ? running.error.message
      : null)
  const empty = mode === 'text' ? text === '' : parsed.ids.length === 0
  const shown = mode === 'text' ? (text === '' ? [] : (tokens.data?.tokens ?? [])) : []

  const count = mode === 'text' ? shown.length : parsed.problem ? 0 : parsed.ids.length
  const long = second ? null : lengthWarning(count, model.spec) // the encoder's own positions are not in the summary

  const submit = (event?: FormEvent) => {
    event?.preventDefault()
    if (empty || (mode === 'ids' && (parsed.problem || (second && ownIds.problem)))) return
    const own = second ? { decoder: mode === 'text' ? { text: decoder } : { ids: ownIds.ids } } : {}
    running.mutate(mode === 'text' ? { text, bos: choice, ...specials, ...own } : { ids: parsed.ids, ...own })
  }

  return (
    <form className="prompt-editor" onSubmit={submit} aria-label="Prompt editor">
      <div className="editor-bar">
        <Segmented
          label="Prompt as"
          value={mode}
          options={[
            { value: 'text', label: 'Text', disabled: tokenizer === null },
            { value: 'ids', label: 'Ids' },
          ]}
          onChange={(next) => {
            setMode(next)
            setDecoder(decoderStart(model, run, next === 'text'))
          }}
        />
        {/* biome-ignore lint/a11y/noLabelWithoutControl: the checkbox inside is the control */}
        <label
          className={canBos && mode === 'text' ? 'check' : 'check is-disabled'}
          title={
            canBos
              ? `Puts ${tokenizer.bosToken} in front; never twice.`
              : 'This tokenizer has no beginning-of-text token.'
          }
        >
          <Checkbox.Root
            className="checkbox"
            checked={bos}
            onCheckedChange={setBos}
            disabled={!canBos || mode === 'ids'}
          >
            <Checkbox.Indicator className="checkbox-mark">✓</Checkbox.Indicator>
          </Checkbox.Root>
          beginning-of-text
        </label>
        {tokenizer !== null && mode === 'text' && (
          // biome-ignore lint/a11y/noLabelWithoutControl: the checkbox inside is the control
          <label
            className="check"
            title="The spelling of a special token in the text (such as an end-of-text mark) is then read as its characters, not as that token."
          >
            <Checkbox.Root className="checkbox" checked={plain} onCheckedChange={setPlain}>
              <Checkbox.Indicator className="checkbox-mark">✓</Checkbox.Indicator>
            </Checkbox.Root>
            specials as plain text
          </label>
        )}
        {tokenizer === null && (
          <span className="muted">
            {model.tokenizerProblem ?? 'This checkpoint has no tokenizer.'} Give ids.
          </span>
        )}
        <span className="spacer" />
        {count > 0 && (
          <span className={long ? 'problem small-text' : 'muted small-text'} title={long ?? undefined}>
            {count} {mode === 'text' ? 'tokens' : 'ids'}
            {long && `, made for ${model.spec.n_ctx}`}
          </span>
        )}
        {problem && (
          <span className="problem" role="alert">
            {problem}
          </span>
        )}
        {onClose && (
          <button type="button" className="button small" onClick={onClose}>
            Close
          </button>
        )}
        <button type="submit" className="button small primary" disabled={empty || running.isPending}>
          {running.isPending ? 'Running…' : 'Run'} <kbd>Ctrl ↵</kbd>
        </button>
      </div>
      <textarea
        className="input editor-text"
        aria-label={mode === 'text' ? 'Prompt text' : 'Prompt ids'}
        aria-invalid={problem !== null}
        // biome-ignore lint/a11y/noAutofocus: it was opened to be typed into
        autoFocus={onClose !== undefined}
        spellCheck={false}
        rows={2}
        placeholder={
          mode === 'text'
            ? 'A text with a repeat: the second time, induction heads look back'
            : `ids from 0 to ${model.spec.d_vocab - 1}, for instance 0, 17, 42, 17`
        }
        value={mode === 'text' ? text : ids}
        onChange={(event) => (mode === 'text' ? setText : setIds)(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit()
          else if (event.key === 'Escape') onClose?.()
        }}
      />
      {second && (
        <label className="editor-second">
          <span className="muted">decoder</span>
          <input
            className="input"
            aria-label={mode === 'text' ? "The decoder's own text" : "The decoder's own ids"}
            placeholder={
              mode === 'text'
                ? 'the beginning of what it writes; empty: its start token alone'
                : `ids, the start token ${model.spec.encoder!.start} first`
            }
            spellCheck={false}
            value={decoder}
            onChange={(event) => setDecoder(event.target.value)}
          />
        </label>
      )}
      <div className="editor-tokens">
        {shown.map((t, i) => (
          <button
            // biome-ignore lint/suspicious/noArrayIndexKey: a token is its position
            key={i}
            type="button"
            className={`id-chip${t.special ? ' is-special' : ''}${i === chosen ? ' is-chosen' : ''}`}
            aria-pressed={i === chosen}
            title="The merges that build it"
            onClick={() => setChosen(i === chosen ? null : i)}
          >
            <span className="token-text">{t.text}</span>
            <i>{t.id}</i>
          </button>
        ))}
      </div>
      {chosen !== null && shown[chosen] && (
        <section className="editor-card" aria-label={`Token ${chosen}`}>
          <TokenCard model={model} token={shown[chosen]} />
        </section>
      )}
    </form>
  )
}

/** What stands in the decoder's field at first: the shown run's own part, as ids or as text. */
function decoderStart({ spec }: OpenedModel, run: RunDetail | null, asText: boolean): string {
  if (!spec.encoder) return ''
  if (asText)
    return (
      run?.decoderText ??
      run?.views
        .slice(1)
        .map((view) => view.text.replaceAll('·', ' '))
        .join('')
        .trim() ??
      ''
    )
  return run?.views.map((view) => view.id).join(', ') ?? String(spec.encoder.start)
}

function beginsWithBos(run: RunDetail): boolean {
  return (run.source ?? run.views)[0]?.special ?? false
}
