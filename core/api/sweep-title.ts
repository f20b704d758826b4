/** What a stored sweep is called in lists. In: its kind and request. Out: a few words. Pure. */
import type { ExperimentKind, Experiments } from './contract.ts'

type Request<K extends ExperimentKind> = Experiments[K]['request']

const MOST = 32 // characters of a prompt

/** Such as `zero heads, loss: “The queen spoke to…”`. */
export function sweepTitle<K extends ExperimentKind>(kind: K, request: Request<K>): string {
  const { text, ids } = 'prompt' in request ? request.prompt : request.clean
  const of = text === undefined ? `${ids?.length ?? 0} ids` : `“${shortened(text)}”`
  return `${doing(kind, request)}, ${words(request.metric.kind)}: ${of}`
}

// --- Internal helpers ---

function doing(kind: ExperimentKind, request: Request<ExperimentKind>): string {
  switch (kind) {
    case 'ablate': {
      const { kind: how, over } = request as Request<'ablate'>
      return `${how} ${words(over)}`
    }
    case 'patch': {
      const { site, direction } = request as Request<'patch'>
      return `patch ${site}${direction === 'noise' ? ', noising' : ''}`
    }
    case 'path':
      return 'paths'
    case 'attribute':
      return 'patch estimates'
  }
}

function words(name: string): string {
  return name.replaceAll('_', ' ')
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > MOST ? `${line.slice(0, MOST).trimEnd()}…` : line
}
