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
  /** Query heads that read one key/value head. */
  readonly group: number
  readonly layers: number
}

export function editChoices({ head, query, key, group, layers }: Place): EditChoice[] {
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
    if (query !== null && key !== null && query !== key)
      out.push({
        label: `Knock out ${query} → ${key} in every layer`,
        edit: { hook: 'blocks.*.attn.hook_attn_scores', query, key, op: 'set', value: '-inf' },
      })
    if (key !== null) out.push(valueChoice(head, key, group))
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

/** A value belongs to a head, or to all heads of a group: then the choice says which. */
function valueChoice({ layer, head }: HeadId, key: number, group: number): EditChoice {
  const hook = `blocks.${layer}.attn.hook_v`
  if (group === 1)
    return {
      label: `Zero the value of ${key} in ${headName({ layer, head })}`,
      edit: { hook, head, pos: key, op: 'zero' },
    }
  const kv = Math.floor(head / group)
  const readers = Array.from({ length: group }, (_, i) => headName({ layer, head: kv * group + i }))
  return {
    label: `Zero the value of ${key} for ${readers.join(', ')}, which share it`,
    edit: { hook, kv_head: kv, pos: key, op: 'zero' },
  }
}
