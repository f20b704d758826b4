/**
 * A process that runs commands one after the other, so that a file of tests pays for its start once. In: messages with
 * arguments, working folder and environment. Out: the exit code and what was printed. `headscope.mjs` itself is tested
 * where a command is started on its own.
 */
import { main } from '../../core/cli/main.ts'

export interface Ask {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly root: string
}

const printed = { stdout: '', stderr: '' }
for (const name of ['stdout', 'stderr'] as const) {
  process[name].setMaxListeners(0) // every command listens for a reader that goes away
  process[name].write = (part: string | Uint8Array) => {
    printed[name] += typeof part === 'string' ? part : Buffer.from(part).toString()
    return true
  }
}

process.on('message', async ({ args, cwd, env, root }: Ask) => {
  Object.assign(printed, { stdout: '', stderr: '' })
  process.chdir(cwd)
  process.env = { ...env }
  const code = await main(args, { root })
  process.send!({ code, ...printed })
})
process.on('disconnect', () => process.exit())
