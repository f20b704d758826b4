/** The edits that make sense where the person looks: at a head, a locked cell, a locked token. In: selection. Out: a list. */
import type { Edit } from '../../core/run/types.ts'
import { ablateHead, knockOut } from './edits.ts'
import { type HeadId, headName } from './head-name.ts'

export interface EditChoice {
  readonly label: string
  readonly edit: Edit
}

interface Place {
  readonly head: HeadId | null
  readonly query: number | null
  readonly key: number | null
  readonly grouped: boolean
  readonly layers: number
}

export function editChoices({ head, query, key, grouped, layers }: Place): EditChoice[] {
  const out: EditChoice[] = []
  if (head) {
    const name = headName(head)
    const scores = `blocks.${head.layer}.attn.hook_attn_scores`
    out.push({ label: `Ablate ${name}: zero its output`, edit: ablateHead(head) })
    out.push({
      label: `Double the output of ${name}`,
      edit: { hook: `blocks.${head.layer}.attn.hook_z`, head: head.head, op: 'scale', by: 2 },
    })
    if (query !== null)
      out.push({
        label: `Zero the output of ${name} at ${query} only`,
        edit: { ...ablateHead(head), pos: query },
      })
    if (query !== null && key !== null) {
      out.push({ label: `Knock out ${query} → ${key} in ${name}`, edit: knockOut(head, query, key) })
      if (query !== key)
        out.push({
          label: `Knock out ${query} → ${key} in every head of layer ${head.layer}`,
          edit: { hook: scores, query, key, op: 'set', value: '-inf' },
        })
    }
    if (key !== null && !grouped)
      out.push({
        label: `Zero the value of ${key} in ${name}`,
        edit: { hook: `blocks.${head.layer}.attn.hook_v`, head: head.head, pos: key, op: 'zero' },
      })
  }
  if (query !== null) {
    const layer = Math.min(head?.layer ?? 0, layers - 1)
    out.push({
      label: `Zero the residual stream at ${query} before layer ${layer}`,
      edit: { hook: `blocks.${layer}.hook_resid_pre`, pos: query, op: 'zero' },
    })
    out.push({
      label: `Zero what the MLP of layer ${layer} adds at ${query}`,
      edit: { hook: `blocks.${layer}.hook_mlp_out`, pos: query, op: 'zero' },
    })
  }
  return out
}
