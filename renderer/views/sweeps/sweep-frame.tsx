/**
 * What stands around the result of every sweep: what it is, how far it has come, going on, export, warnings; the drawing in
 * the middle, lists at the side. In: a sweep and its drawing.
 */
import type { ReactNode } from 'react'
import type { ExperimentKind } from '../../../core/api/contract.ts'
import type { Figure } from '../../charts/figure.ts'
import { FigureMenu } from '../../charts/figure-menu.tsx'
import { ContinueSweep } from './continue-sweep.tsx'
import type { ShownSweep } from './use-sweep.ts'

interface Props<K extends ExperimentKind> {
  readonly sweep: ShownSweep<K>
  readonly title: string
  /** Beside the title: metric, ends. */
  readonly note: ReactNode
  /** What its numbers are and where they come from, for a hint. */
  readonly about: string
  /** What the status bar calls the sweep when it goes on. */
  readonly called: string
  readonly tools?: ReactNode
  readonly figure: () => Figure
  readonly side: ReactNode
  readonly children: ReactNode
}

export function SweepFrame<K extends ExperimentKind>(props: Props<K>) {
  const { sweep, title, note, about, called, tools, figure, side, children } = props
  const { kind, id, request, cells, planned, running } = sweep
  return (
    <div className="sweep-result">
      <section className="sweep-main" aria-label="Effects">
        <header className="pattern-head">
          <h3 className="pane-title">
            {title}
            <span title={about}>{note}</span>
          </h3>
          <div className="pattern-tools">
            <span className="muted small-text mono">
              {cells.length}/{planned}
              {running ? ' …' : ''}
            </span>
            <ContinueSweep
              kind={kind}
              id={id}
              request={request}
              done={cells.length}
              planned={planned}
              running={running}
              title={`Going on: ${called}`}
            />
            {tools}
            <FigureMenu figure={figure} name="this result" />
          </div>
        </header>
        <SweepProblems warnings={sweep.warnings} problem={sweep.problem} />
        {children}
      </section>
      <aside className="sweep-side">{side}</aside>
    </div>
  )
}

/** Warnings of a result, and why it stopped. */
export function SweepProblems({
  warnings,
  problem,
}: {
  readonly warnings: readonly string[]
  readonly problem: string | null
}) {
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} className="warning">
          {warning}
        </p>
      ))}
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
    </>
  )
}
