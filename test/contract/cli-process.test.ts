/** The command line as a process: help, wrong usage, Ctrl-C, pipes, the launcher under an old Node, and the server. */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runsTypeScript } from '../../core/cli/find-node.mjs'
import { type CommandLine, commandLine, LAUNCHER, ROOT } from '../support/command-line.ts'

const COMMANDS = [
  'inspect',
  'run',
  'generate',
  'scan',
  'verify',
  'sweep',
  'merge',
  'store',
  'cache',
  'sql',
  'serve',
  'bench',
]
let folder: string
let headscope: CommandLine

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-process-'))
  headscope = commandLine(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A Node on the PATH that is too old to run TypeScript, if this machine has one. */
function oldNode(): string | null {
  for (const part of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(part, 'node')
    if (!existsSync(path)) continue
    const version = execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
    if (!runsTypeScript(version)) return path
  }
  return null
}
const old = oldNode()

describe('help', () => {
  it('names every command with an example', async () => {
    for (const args of [[], ['help'], ['--help']]) {
      const { code, stdout, stderr } = await headscope(...args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      for (const name of COMMANDS) expect(stdout).toContain(`$ headscope ${name}`)
      expect(stdout).not.toContain('\x1b')
    }
  })

  it('of every command shows an example and its options', async () => {
    const pages = await Promise.all(COMMANDS.map((name) => headscope(name, '--help')))
    for (const [i, { code, stdout, stderr }] of pages.entries()) {
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toMatch(new RegExp(`^Usage  headscope ${COMMANDS[i]} `))
      expect(stdout).toContain(`$ headscope ${COMMANDS[i]}`)
      expect(stdout).toContain('--json')
    }
    expect((await headscope('help', 'scan')).stdout).toBe(pages[COMMANDS.indexOf('scan')]!.stdout)
  })

  it('knows its version', async () => {
    expect((await headscope('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})

describe('wrong usage', () => {
  it('is exit 2, one sentence and where to look', async () => {
    const wrong = async (words: RegExp, ...args: string[]) => {
      const { code, stdout, stderr } = await headscope(...args)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(words)
      expect(stderr).toMatch(/\nSee headscope [a-z ]*(--help|help)\.\n$/)
    }
    await wrong(/^There is no command "inspct"; did you mean inspect\?/, 'inspct', 'm')
    await wrong(/^inspect needs MODEL, but got none\./, 'inspect')
    await wrong(
      /^scan has no option --lenght; did you mean --length\?/,
      'scan',
      'induction-2l',
      '--lenght',
      '4',
    )
    await wrong(/^--length needs a whole number, not "four"\./, 'scan', 'induction-2l', '--length', 'four')
    await wrong(/^run needs a prompt/, 'run', 'induction-2l')
    await wrong(/^--out writes captures/, 'run', 'induction-2l', '--ids', '1', '--out', 'x.safetensors')
    await wrong(
      /^--store and --no-store exclude each other\./,
      'scan',
      'induction-2l',
      '--store',
      'a.db',
      '--no-store',
    )
    await wrong(/is one too many\./, 'inspect', 'induction-2l', 'prose-4l')
    await wrong(/^--progress is one of auto, always, never/, 'inspect', 'induction-2l', '--progress', 'maybe')
  })
})

describe('output', () => {
  it('has no progress unless it is asked for', async () => {
    const quiet = await headscope('scan', 'induction-2l', '--no-store', '--batch', '4')
    expect(quiet).toMatchObject({ code: 0, stderr: '' })
    const scan = ['scan', 'induction-2l', '--no-store', '--batch', '4', '--progress', 'always', '--json']
    const loud = await headscope(...scan)
    expect(loud.stderr).toMatch(/scan \d+ % · \d+ s left\n/)
    expect(JSON.parse(loud.stdout).heads).toHaveLength(16)
  })

  it('into a pipe that closes ends quietly', () => {
    const line = `"${process.execPath}" "${LAUNCHER}" help | head -1; "${process.execPath}" "${LAUNCHER}" inspect induction-2l --hooks | head -1`
    const { stdout, stderr } = spawnSync('sh', ['-c', line], { encoding: 'utf8' })
    expect(stdout.split('\n')[1]).toMatch(/^induction-2l/)
    expect(stderr).toBe('')
    const gone = `"${process.execPath}" "${LAUNCHER}" run induction-2l --no-store --json --ids ${Array(200).fill(7).join()} | true`
    expect(spawnSync('sh', ['-c', gone], { encoding: 'utf8' }).stderr).toBe('')
  })
})

describe('Ctrl-C', () => {
  it('stops the work, keeps nothing half done, and exits with 130', async () => {
    const store = join(folder, 'cancelled.db')
    const many = [
      'scan',
      'induction-2l',
      '--batch',
      '9000',
      '--length',
      '100',
      '--store',
      store,
      '--progress',
      'always',
    ]
    const { child, ended } = headscope.start(many)
    await new Promise<void>((working) =>
      child.stderr!.on('data', (text: string) => /scan \d+ %/.test(text) && working()),
    )
    child.kill('SIGINT')
    const { code, stdout, stderr } = await ended
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' })
    expect(stderr).toMatch(/\nCancelled; nothing of this command was stored: [^\n]+\.\n$/)
    const { stdout: counts } = await headscope('sql', store, 'select count(*) from head_score', '--json')
    expect(JSON.parse(counts).rows).toEqual([[0]])
  })
})

describe.skipIf(old === null)('under an old Node', () => {
  const start = (...args: string[]) => headscope.start(args, { node: old! })

  it('starts the engine’s own Node, in the caller’s folder, without a word', async () => {
    const { code, stdout, stderr } = await headscope.start(['inspect', 'induction-2l', '--json'], {
      node: old!,
      cwd: ROOT,
    }).ended
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(stdout).family).toBe('gpt_neox')
    const relative = headscope.start(['inspect', './induction-2l'], { node: old!, cwd: join(ROOT, 'models') })
    expect((await relative.ended).code).toBe(0)
    expect((await start('inspect', 'nowhere').ended).code).toBe(1)
    expect((await start('inspect').ended).code).toBe(2)
  })

  it('passes Ctrl-C on', async () => {
    const { child, ended } = start(
      'scan',
      'induction-2l',
      '--batch',
      '9000',
      '--length',
      '100',
      '--no-store',
      '--progress',
      'always',
    )
    await new Promise<void>((working) =>
      child.stderr!.on('data', (text: string) => /scan \d+ %/.test(text) && working()),
    )
    child.kill('SIGINT')
    expect((await ended).code).toBe(130)
  })

  it('help and inspect load nothing of the engine, which would take most of a second', async () => {
    const coverage = join(folder, 'coverage')
    const loaded = async (...args: string[]) => {
      const env = { NODE_V8_COVERAGE: coverage }
      expect((await headscope.start(args, { env }).ended).code).toBe(0)
      const scripts = readdirSync(coverage).flatMap((name) => {
        const { result } = JSON.parse(readFileSync(join(coverage, name), 'utf8')) as {
          result: { url: string }[]
        }
        return result.map(({ url }) => url)
      })
      rmSync(coverage, { recursive: true })
      return scripts.join('\n')
    }
    const help = await loaded('help')
    expect(help).toContain('core/cli/main.ts')
    expect(help).not.toMatch(/node_modules|core\/(store|families|api|analysis)\//)
    const inspect = await loaded('inspect', join(ROOT, 'models', 'induction-2l'))
    expect(inspect).toContain('core/families/')
    expect(inspect).not.toMatch(/onnxruntime|better-sqlite3|hono/)
  })
})

describe('serve', () => {
  it('prints one URL with its token, answers there, and ends with Ctrl-C', async () => {
    const { child, ended } = headscope.start(['serve', '--no-store', '--library', folder])
    const line = await new Promise<string>((ready) => child.stdout!.once('data', ready))
    expect(line).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]+\n$/)
    const url = new URL(line.trim())
    const authorization = `Bearer ${url.searchParams.get('token')}`
    const about = await fetch(new URL('/api/about', url), { headers: { authorization } })
    expect(await about.json()).toMatchObject({ device: 'cpu', families: expect.arrayContaining(['llama']) })
    expect((await fetch(new URL('/api/about', url))).status).toBe(401)

    const second = await headscope('serve', '--no-store', '--port', url.port)
    expect(second).toMatchObject({ code: 1, stdout: '' })
    expect(second.stderr).toMatch(/^The port \d+ on 127\.0\.0\.1 is used by another program[^\n]*\n$/)

    child.kill('SIGINT')
    const { code, stderr, stdout } = await ended
    expect({ code, stderr, stdout }).toEqual({ code: 130, stderr: '', stdout: line })
    await expect(fetch(new URL('/api/about', url))).rejects.toThrow()
  })

  it('refuses a library that is not there', async () => {
    const { code, stderr } = await headscope('serve', '--no-store', '--library', 'absent')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The folder .*absent does not exist/)
  })
})
