/** What stands in the place of the ranked list before the heads are scored: what scoring does, and the button. */
import { useMutation } from '@tanstack/react-query'
import type { OpenedModel } from '../../../core/api/contract.ts'
import { useJobOn } from '../../api/jobs.ts'
import { scanNow } from '../../state/open.ts'
import { whyUnscored } from '../../state/why-unscored.ts'
import { Empty, Waiting } from '../../ui/notice.tsx'

export function Unscored({ model, waiting }: { model: OpenedModel; waiting: boolean }) {
  const scan = useMutation({ mutationFn: () => scanNow(model) })
  const running = useJobOn('scan', model.path)
  const why = whyUnscored(model.spec)
  return (
    <section className="ranked" aria-label="Heads ranked">
      <h3 className="pane-title">Ranked</h3>
      {why ? (
        <Empty title="No scores" leads={false}>
          <p>{why} Its patterns are in the grid, once a prompt was run.</p>
        </Empty>
      ) : waiting || running || scan.isPending ? (
        <Waiting text="Scoring every head on repeated random tokens…" />
      ) : (
        <Empty title="Not scored yet" leads={false}>
          <p>Runs 32 sequences of random tokens, each twice, and measures where every head looks.</p>
          <button type="button" className="button primary" onClick={() => scan.mutate()}>
            Score {model.spec.n_layers * model.spec.n_heads} heads
          </button>
        </Empty>
      )}
    </section>
  )
}
