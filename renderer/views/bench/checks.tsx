/** The basis check (another basis of queries and keys changes no score) and the counts of parameters and memory. */

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { AccountingReply, BenchHeadInput, OpenedModel, RunDetail } from '../../../core/api/contract.ts'
import { api } from '../../api/client.ts'
import { grouped } from '../../state/format.ts'
import { Fact } from './effect.tsx'

export function Basis({ run, place }: { run: RunDetail; place: BenchHeadInput }) {
  const [seed, setSeed] = useState(1)
  const check = useQuery({
    queryKey: ['basis', run.id, place, seed],
    queryFn: ({ signal }) => api.benchBasis({ ...place, seed }, signal),
    retry: false,
  })
  const reply = check.data
  return (
    <section aria-label="Basis check">
      <h3 className="pane-title">q → q B, k → k B⁻ᵀ</h3>
      <p className="muted small-text">
        Only the product of query and key is identified: a random invertible B changes no score. So raw
        coordinates of q, k, W_Q and W_K mean nothing on their own.
      </p>
      {check.isError && (
        <p className="problem" role="alert">
          {check.error.message}
        </p>
      )}
      {check.isPending && <p className="muted small-text">Running with another basis…</p>}
      {reply && (
        <>
          <dl className="facts">
            <Fact name="error on the vectors">{reply.vectors.toExponential(1)}</Fact>
            <Fact name="error on the weights">
              {reply.weights === null ? 'not allowed' : reply.weights.toExponential(1)}
            </Fact>
            <Fact name="error on v C, C⁻¹ W_O">{reply.values.toExponential(1)}</Fact>
            <Fact name="B on the weights">
              {{ any: 'any invertible', pairs: 'scaled rotations of pairs', none: 'none' }[reply.allowed]}
            </Fact>
          </dl>
          <p className="small-text">{reply.why}</p>
          <p className="muted small-text">Errors: largest change of a score over the largest score.</p>
          <button type="button" className="button small" onClick={() => setSeed(seed + 1)}>
            Another B
          </button>
        </>
      )}
    </section>
  )
}

const COUNTS: readonly (readonly [keyof AccountingReply['model']['counts'], string])[] = [
  ['head', 'one head'],
  ['attentionSublayer', 'one attention'],
  ['attention', 'all attention'],
  ['mlpSublayer', 'one MLP'],
  ['mlp', 'all MLPs'],
  ['embedding', 'embedding'],
  ['unembedding', 'unembedding'],
  ['positions', 'positions'],
  ['fullValueMap', 'D × D value map'],
  ['all', 'all matrices'],
]

export function Accounting({ model }: { model: OpenedModel }) {
  const reply = useQuery({
    queryKey: ['accounting', model.path],
    queryFn: () => api.accounting(model.path),
    retry: false,
  })
  if (reply.isError)
    return (
      <p className="problem" role="alert">
        {reply.error.message}
      </p>
    )
  if (!reply.data) return <p className="muted small-text">Counting…</p>
  const { model: own, gpt3 } = reply.data
  return (
    <section aria-label="Accounting">
      <h3 className="pane-title">
        Parameters <span>matrices only; biases, norms apart</span>
      </h3>
      <table className="data-table bench-table">
        <thead>
          <tr>
            <th scope="col">part</th>
            <th scope="col">{model.name}</th>
            <th scope="col">GPT-3</th>
          </tr>
        </thead>
        <tbody>
          {COUNTS.map(([name, label]) => (
            <tr key={name}>
              <th scope="row">{label}</th>
              <td className="number">{grouped(own.counts[name])}</td>
              <td className="number">{grouped(gpt3.counts[name])}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <h3 className="pane-title">
        Memory <span>float32, per text of T tokens</span>
      </h3>
      <table className="data-table bench-table">
        <thead>
          <tr>
            <th scope="col">T</th>
            <th scope="col">cache</th>
            <th scope="col">T × T</th>
            <th scope="col">GPT-3 cache</th>
            <th scope="col">T × T</th>
          </tr>
        </thead>
        <tbody>
          {own.memory.map((line, i) => (
            <tr key={line.tokens}>
              <th scope="row">{grouped(line.tokens)}</th>
              <td className="number">{bytes(line.cacheBytes)}</td>
              <td className="number">{bytes(line.scoreBytes)}</td>
              <td className="number">{bytes(gpt3.memory[i]?.cacheBytes ?? 0)}</td>
              <td className="number">{bytes(gpt3.memory[i]?.scoreBytes ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="muted small-text">
        The cache of keys and values grows with T, the scores with T²: they are different things.
      </p>
    </section>
  )
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']

function bytes(count: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10))
  const shown = count / 1024 ** power
  return `${shown >= 100 || Number.isInteger(shown) ? shown.toFixed(0) : shown.toPrecision(3)} ${UNITS[power]}`
}
