/** One position through the layers: how long its residual is, and how near to the border before and to the end. */

import { useQuery } from '@tanstack/react-query'
import type { OpenedModel, PromptInput } from '../../../core/api/contract.ts'
import type { Edit } from '../../../core/run/types.ts'
import { api } from '../../api/client.ts'
import { preciseWeight } from '../../state/format.ts'
import { aboutRun } from '../sweeps/about-sweep.ts'
import { borderName } from './cells.ts'

interface Props {
  readonly model: OpenedModel
  readonly prompt: PromptInput
  readonly edits: readonly Edit[]
  readonly pos: number
  readonly border: number
}

export function NormProfile({ model, prompt, edits, pos, border }: Props) {
  const geometry = useQuery({
    queryKey: ['geometry', model.path, prompt, edits],
    queryFn: ({ signal }) =>
      api.geometry({ model: model.path, prompt, ...(edits.length > 0 ? { edits } : {}) }, signal),
    retry: false,
  })
  if (geometry.isError) return <p className="problem">{geometry.error.message}</p>
  if (!geometry.data) return <p className="muted small-text">Measuring…</p>
  const { norms, step, toEnd } = geometry.data
  const last = norms.length - 1
  const most = Math.max(...norms.map((row) => row[pos] ?? 0))
  const cosine = (value: number | null | undefined) =>
    value == null ? '–' : value.toFixed(2).replace(/^-/, '−')
  return (
    <table
      className="norm-profile"
      title={aboutRun(
        model,
        'Length of the residual at each block border, its cosine with the border before and with the last one.',
      )}
    >
      <thead>
        <tr>
          <th scope="col">border</th>
          <th scope="col">|x|</th>
          <th scope="col" title="Cosine with the border before">
            cos step
          </th>
          <th scope="col" title="Cosine with the last border">
            cos end
          </th>
        </tr>
      </thead>
      <tbody>
        {norms
          .map((_, i) => last - i)
          .map((at) => (
            <tr key={at} className={at === border ? 'is-selected' : ''}>
              <th scope="row">{borderName(at, last)}</th>
              <td>
                <span
                  className="norm-bar"
                  style={{ width: `${((norms[at]?.[pos] ?? 0) / (most || 1)) * 34}px` }}
                />
                {preciseWeight(norms[at]?.[pos] ?? Number.NaN)}
              </td>
              <td>{at === 0 ? '' : cosine(step[at - 1]?.[pos])}</td>
              <td>{cosine(toEnd[at]?.[pos])}</td>
            </tr>
          ))}
      </tbody>
    </table>
  )
}
