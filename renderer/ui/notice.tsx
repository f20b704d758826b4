/** Empty, waiting and failed states: what is going on, and what to do. */
import type { ReactNode } from 'react'
import { exampleOf, examplesOpen } from '../state/examples.ts'
import { showExample } from '../state/show-example.ts'
import { useSelection } from '../state/store.ts'

interface EmptyProps {
  readonly title: string
  readonly children?: ReactNode
  /** Whether it leads to an example: not where another notice beside it does. */
  readonly leads?: boolean
}

export function Empty({ title, children, leads = true }: EmptyProps) {
  const example = exampleOf(useSelection((s) => s.tab))
  return (
    <div className="notice">
      <p className="notice-title">{title}</p>
      {children}
      {leads && (
        <button
          type="button"
          className="link notice-example"
          title={example?.says}
          onClick={() => (example ? showExample(example) : examplesOpen.set(true))}
        >
          {example ? `See an example: ${example.title}` : 'See the examples'}
        </button>
      )}
    </div>
  )
}

export function Waiting({ text }: { text: string }) {
  return (
    <div className="notice" role="status">
      <span className="spinner" aria-hidden="true" />
      <p>{text}</p>
    </div>
  )
}

export function Failed({ error, retry }: { error: unknown; retry?: () => void }) {
  return (
    <div className="notice notice-failed" role="alert">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {retry && (
        <button type="button" className="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}
