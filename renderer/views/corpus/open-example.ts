/** Opens an example: its text as the prompt, its head, and its edge locked, on the Pattern tab. */
import type { OpenedModel } from '../../../core/api/contract.ts'
import type { TokenView } from '../../../core/checkpoint/types.ts'
import { runOn } from '../../state/open.ts'
import type { HeadId } from '../../state/selection.ts'
import { getSelection, select } from '../../state/store.ts'

export async function openExample(
  model: OpenedModel,
  tokens: readonly TokenView[],
  /** The same as text, where it is one: the run is then found again, and has a name. */
  text: string | undefined,
  head: HeadId,
  query: number,
  key: number | null,
): Promise<void> {
  await runOn(model, text === undefined ? { ids: tokens.map(({ id }) => id) } : { text })
  if (getSelection().model !== model.path) return
  select({ tab: 'pattern', head, query: key === null ? null : query, key })
}
