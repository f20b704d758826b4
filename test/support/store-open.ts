/** A process that opens a workspace and says how that went: `node store-open.ts PATH write|read`. Prints JSON. */
import type { HeadscopeError } from '../../core/errors.ts'
import { openStore } from '../../core/store/capture-store.ts'

const [path, how] = process.argv.slice(2) as [string, string]
try {
  const store = openStore(path, { readonly: how === 'read' })
  console.log(
    JSON.stringify({ runs: store.listRuns().map((run) => run.id), edges: store.searchEdges({}).total }),
  )
  store.close()
} catch (error) {
  console.log(JSON.stringify({ code: (error as HeadscopeError).code, message: (error as Error).message }))
}
