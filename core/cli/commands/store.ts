/** `headscope store ACTION`: what the workspace holds and costs, and less of it. Costs a few queries; compact seconds per GB. */
import { command, UsageError } from '../command.ts'
import { bytes, counted, printable, table } from '../table.ts'

const ACTIONS = ['list', 'delete', 'keep-scores', 'compact', 'path'] as const

export const store = command({
  name: 'store',
  usage: 'list|delete|keep-scores|compact|path [RUN…] [options]',
  summary: 'What the workspace holds and what it costs; deletes runs or their captures, gives room back',
  detail:
    'list shows the runs with their sizes. delete removes runs whole; keep-scores drops their captures and keeps provenance, losses and predictions (scores and sweeps are kept in either case). compact gives the room of what was removed back to the disk. path prints where the workspace lies.',
  examples: [
    'headscope store list',
    'headscope store keep-scores 3 4 5',
    'headscope store delete 2',
    'headscope store compact --store work.db',
  ],
  options: {
    store: { type: 'text', value: 'FILE', help: 'the workspace (default: the user’s)' },
    all: { type: 'flag', help: 'every run, with delete and keep-scores' },
  },
  takes: [1, 100_000],
  abrupt: true,
  async run({ values, positionals, out }) {
    const [action, ...given] = positionals as [string, ...string[]]
    if (!ACTIONS.some((name) => name === action))
      throw new UsageError(`store has no action ${JSON.stringify(action)}; use ${ACTIONS.join(', ')}`)
    const changes = action === 'delete' || action === 'keep-scores'
    const runs = given.map(runNumber)
    if (!changes && (runs.length > 0 || values.all)) throw new UsageError(`store ${action} takes no runs`)
    if (changes && values.all === runs.length > 0)
      throw new UsageError(`store ${action} needs the numbers of runs, or --all`)
    const { storePath } = await import('../store.ts')
    const path = storePath({ store: values.store, 'no-store': false })!
    if (action === 'path') {
      if (out.json) out.document({ path, warnings: [] })
      else out.line(path)
      return 0
    }
    const { openStore } = await import('../../store/capture-store.ts')
    // Read first: a workspace that is not there is not made for its housekeeping.
    const reads = openStore(path, { readonly: true })
    const known = reads.listRuns()
    const use = reads.use()
    reads.close()
    if (action === 'list') {
      if (out.json) out.document({ path, ...use, runs: known, warnings: [] })
      else list()
      return 0
    }
    const workspace = openStore(path)
    try {
      if (action === 'compact') {
        workspace.compact()
        const after = workspace.use().bytes
        if (out.json) out.document({ path, before: use.bytes, after, warnings: [] })
        else out.line(`${bytes(use.bytes)} before, ${bytes(after)} now`)
        return 0
      }
      const chosen = values.all ? known.map(({ id }) => id) : [...new Set(runs)]
      for (const id of chosen) workspace.runBytes(id) // all are there, or nothing is touched
      let freed = 0
      for (const id of chosen) {
        if (action === 'keep-scores') freed += workspace.keepScoresOnly(id)
        else {
          freed += workspace.runBytes(id)
          workspace.deleteRun(id)
        }
      }
      if (out.json) {
        out.document({ path, [action === 'delete' ? 'deleted' : 'kept_scores']: chosen, freed, warnings: [] })
        return 0
      }
      const count = `${chosen.length} ${chosen.length === 1 ? 'run' : 'runs'}`
      out.line(
        action === 'delete'
          ? `${count} deleted, ${bytes(freed)}`
          : `Captures of ${count} dropped, ${bytes(freed)}`,
      )
      if (freed > 0) out.line(out.style.dim('headscope store compact gives that room back to the disk'))
      return 0
    } finally {
      workspace.close()
    }

    function list(): void {
      const { style } = out
      const columns = [
        { title: 'run', right: true },
        { title: 'model' },
        { title: 'tokens', right: true },
        { title: 'size', right: true },
        { title: 'made' },
        { title: 'prompt' },
      ]
      const rows = known.map(({ id, modelName, tokens, bytes: size, captures, created, text }) => [
        { text: String(id), paint: style.bold },
        { text: printable(modelName) },
        { text: String(tokens) },
        { text: captures ? bytes(size) : 'scores only' },
        { text: created.slice(0, 16).replace('T', ' ') },
        { text: printable((text ?? '').replace(/\s+/g, ' ').slice(0, 40)) },
      ])
      if (rows.length > 0) for (const line of table(columns, rows, style.bold)) out.line(line)
      const more = [
        counted(use.runs, 'run'),
        counted(use.scans, 'scan'),
        counted(use.experiments, 'sweep'),
        counted(use.analyses, 'analysis', 'analyses'),
      ].join(', ')
      const free = use.free > 0 ? `, of which compact gives back ${bytes(use.free)}` : ''
      out.line(style.dim(`${more}: ${bytes(use.bytes)}${free}`))
      out.line(style.dim(path))
    }
  },
})

// --- Internal helpers ---

function runNumber(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new UsageError(`${JSON.stringify(text)} is not the number of a run; store list shows them`)
  return Number(text)
}
