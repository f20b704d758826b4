/**
 * Ready examples on the bundled checkpoint: what each shows, and the state that shows it. In: `#example=NAME` or a card.
 * Out: the checkpoint opened and scored, the prompt run, the view set, and its main work begun. Heads are found by their
 * scores and places by what the head does there, so that nothing is said about a checkpoint that it does not do.
 */
import type { OpenedModel } from '../../core/api/contract.ts'
import { api } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { openState } from './open.ts'
import { rankHeads } from './rank.ts'
import { EMPTY, type HeadId, headName, type Selection, sameHead } from './selection.ts'
import { createStore, getSelection, select } from './store.ts'

export interface Example {
  /** In the address. */
  readonly name: string
  readonly title: string
  readonly says: string
  readonly tab: string
  /** The score whose strongest head is opened. */
  readonly head: string
  /** Whether the place where that head looks back most is locked. */
  readonly lock?: boolean
  /** Whether the view's main work is begun. */
  readonly start?: boolean
  readonly show?: Partial<Selection>
  /** Settings of the view. `best` names the strongest head of a score. */
  readonly tool?: (best: (score: string) => string) => Readonly<Record<string, string>>
}

/** A made-up name that the model cannot know, twice. */
const PROMPT = 'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zor'
/** The same, but what comes again is not what was there. */
const CORRUPT = PROMPT.replace('Zorblat', 'Xorblat')

export const EXAMPLES: readonly Example[] = [
  {
    name: 'induction',
    title: 'Induction on a made-up name',
    says: 'The name was there once. When it begins again, one head looks at what followed it the first time.',
    tab: 'pattern',
    head: 'induction',
    lock: true,
  },
  {
    name: 'repeats',
    title: 'Every repeat as an arc',
    says: 'From each later A back to the B that followed the earlier one, and how strongly the head does it.',
    tab: 'induction',
    head: 'induction',
  },
  {
    name: 'previous-token',
    title: 'The head that it builds on',
    says: 'A layer below, a head looks at the token just before. The induction head reads what it writes.',
    tab: 'pattern',
    head: 'previous_token',
  },
  {
    name: 'ablation',
    title: 'Take each head away',
    says: 'What the answer loses without each head, and what each writes towards it itself.',
    tab: 'ablation',
    head: 'induction',
    lock: true,
    start: true,
    tool: () => ({ at: 'locked' }),
  },
  {
    name: 'patching',
    title: 'One letter changed',
    says: 'The name no longer repeats. Each cell puts one clean value back, and shows the way that the answer takes.',
    tab: 'patching',
    head: 'induction',
    lock: true,
    start: true,
    tool: () => ({ corrupt: CORRUPT, at: 'locked' }),
  },
  {
    name: 'paths',
    title: 'Through the keys',
    says: 'How much the induction head reads of the previous-token head in its keys, edge by edge.',
    tab: 'paths',
    head: 'induction',
    lock: true,
    start: true,
    tool: (best) => ({
      corrupt: CORRUPT,
      at: 'locked',
      edges: `${best('previous_token')}:${best('induction')}.k,${best('induction')}:logits`,
      to: `${best('induction')}.k`,
    }),
  },
  {
    name: 'attribution',
    title: 'Who says it',
    says: 'The logit of the answer, taken apart into heads and MLPs that sum to it on the screen.',
    tab: 'attribution',
    head: 'induction',
    lock: true,
  },
  {
    name: 'copying',
    title: 'Copying, from the weights alone',
    says: 'No prompt at all: which heads write the token that they read, from their matrices.',
    tab: 'weights',
    head: 'induction',
    start: true,
    tool: () => ({ weights: 'copying' }),
  },
  {
    name: 'first-principles',
    title: 'One head from first principles',
    says: 'From x to Δx as real matrices. Type another score, and see the prediction change.',
    tab: 'bench',
    head: 'induction',
    lock: true,
  },
  {
    name: 'phase-change',
    title: 'The moment it was learned',
    says: 'Each head’s score against the training step: the induction heads appear together.',
    tab: 'series',
    head: 'induction',
    start: true,
  },
  {
    name: 'corpus',
    title: 'In real text',
    says: 'Wherever the prose repeats itself: which heads look back, how often, and whether it helps.',
    tab: 'corpus',
    head: 'induction',
    start: true,
  },
  {
    name: 'relation',
    title: 'Green forest, blue creature',
    says: 'Does the noun look at its own adjective rather than at the other one? Every head is asked.',
    tab: 'relation',
    head: 'induction',
    start: true,
  },
]

/** Whether the gallery is shown. */
export const examplesOpen = createStore(false)

/** The address that opens an example, from its hash on. */
export const exampleAddress = ({ name }: Example) => `#example=${name}`

/** The example of a view, for its empty state. */
export const exampleOf = (tab: string) => EXAMPLES.find((example) => example.tab === tab)

/** The example that a hash asks for; undefined where it asks for none. */
export function exampleIn(hash: string): Example | undefined {
  const name = new URLSearchParams(hash.replace(/^#/, '')).get('example')
  return EXAMPLES.find((example) => example.name === name)
}

/** Shows an example in place of what is shown; the way back is one step. Throws what opening and running throw. */
export async function openExample(example: Example): Promise<void> {
  const about = await queryClient.fetchQuery({ queryKey: ['about'], queryFn: api.about })
  if (!about.start) throw new Error('The bundled checkpoint is missing, and the examples are about it.')
  const { model, run, heads } = await openState(about.start.model, { text: PROMPT })
  const best = (score: string): HeadId | null => {
    const first = heads && rankHeads(heads, score)[0]
    return first ? { layer: first.layer, head: first.head } : null
  }
  const head = best(example.head)
  const place = example.lock && head ? await whereItLooks(run, head) : null
  const state = {
    ...EMPTY,
    theme: getSelection().theme,
    model: model.path,
    run,
    head,
    query: place?.query ?? null,
    key: place?.key ?? null,
    tab: example.tab,
    tool: example.tool?.((score) => nameOf(best(score))) ?? {},
    ...example.show,
  }
  select(state, { push: true })
  if (example.start) begin(example.tab, model)
}

/** Listens for addresses of examples that are typed or followed. Called once, when the app starts. */
export function connectExamples(onProblem: (problem: string) => void): void {
  addEventListener('hashchange', () => {
    const example = exampleIn(location.hash)
    if (example) openExample(example).catch((error: Error) => onProblem(error.message))
  })
}

// --- Internal helpers ---

const nameOf = (head: HeadId | null) => (head ? headName(head) : '')

/** Of the places where the text repeats, the one where this head looks back most. */
async function whereItLooks(run: number, head: HeadId): Promise<{ query: number; key: number } | null> {
  const { pairs, heads } = await queryClient.fetchQuery({
    queryKey: ['induction', run],
    queryFn: () => api.induction(run),
  })
  const weights = heads.find((one) => sameHead(one, head))?.weights ?? []
  const pair = pairs[weights.indexOf(Math.max(...weights))]
  return pair ? { query: pair.query, key: pair.target } : null
}

const LOOK_MS = 100
const LOOKS = 80

/**
 * Presses the view's own main button as soon as it can be pressed and all that the view asked for is there (its metric
 * is made of the predictions of both prompts). A view that already shows its result has no such button.
 */
function begin(tab: string, model: OpenedModel, looks = 0, calm = 0): void {
  const now = getSelection()
  if (looks > LOOKS || now.tab !== tab || now.model !== model.path) return
  const button = document.querySelector<HTMLButtonElement>('[role=tabpanel]:not([hidden]) button.primary')
  const quiet = button && !button.disabled && queryClient.isFetching() === 0
  if (quiet && calm > 0) button.click()
  else setTimeout(() => begin(tab, model, looks + 1, quiet ? calm + 1 : 0), LOOK_MS)
}
