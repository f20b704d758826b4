/** What a command would not read, or what would be lost: said before anything runs, or as a warning, never ignored. */

import { spawnSync } from 'node:child_process'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandLine, commandLine, LAUNCHER, ROOT } from '../support/command-line.ts'

let folder: string
let headscope: CommandLine
const M = 'induction-2l'
const LOSS = '{"kind": "loss"}'
const Z = 'blocks.1.attn.hook_z'

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-refusals-'))
  headscope = commandLine(folder)
  cpSync(join(ROOT, 'test', 'fixtures', 'transformers', 'llama-gqa'), join(folder, 'own'), {
    recursive: true,
  })
  writeFileSync(join(folder, 'corpus.txt'), 'A B A\n')
  writeFileSync(join(folder, 'ids.json'), '[[5, 6, 5, 6]]')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function refused(exit: 1 | 2, words: RegExp, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await headscope(...args)
  expect({ code, stdout }, `${args.join(' ')}: ${stderr}`).toEqual({ code: exit, stdout: '' })
  expect(stderr).toMatch(words)
  expect(stderr.trimEnd().split('\n')).toHaveLength(exit)
}
const edited = (words: RegExp, edit: object) =>
  refused(1, words, 'run', M, '--ids', '5,9', '--no-store', '--edit', JSON.stringify(edit))

describe('an option that nothing would read', () => {
  it('is refused by scan', async () => {
    await refused(
      2,
      /^--text and --prompts are read by the scores prefix_matching and icl only/,
      'scan',
      M,
      '--text',
      'hi',
    )
    await refused(2, /so no --length is read/, 'scan', M, '--ids-file', 'ids.json', '--length', '4')
  })

  it('is refused by ablate, which also says what a mean needs', async () => {
    const ablate = ['ablate', M, '--ids', '5,9,5', '--metric', LOSS]
    await refused(2, /^--kind zero reads no reference/, ...ablate, '--reference', 'corpus.txt')
    await refused(2, /^--mean-over is of --kind mean, and this is zero/, ...ablate, '--mean-over', 'pos')
    await refused(
      2,
      /^--kind mean takes its values from other prompts: give --reference/,
      ...ablate,
      '--kind',
      'mean',
    )
  })

  it('is refused by spans', async () => {
    const spans = ['spans', M, '--ids', '5,9,5,9']
    await refused(2, /^--threshold is of --hit weight/, ...spans, '--threshold', '0.5')
    await refused(2, /^--threshold is 2, but a weight lies/, ...spans, '--hit', 'weight', '--threshold', '2')
  })

  it('is refused in a metric', async () => {
    const ablate = ['ablate', M, '--ids', '5,9,5']
    await refused(
      2,
      /the kind loss reads no "answer"/,
      ...ablate,
      '--metric',
      '{"kind": "loss", "answer": 5}',
    )
    await refused(
      2,
      /the kind logit reads no "wrong"/,
      ...ablate,
      '--metric',
      '{"kind": "logit", "answer": 5, "wrong": 1}',
    )
    await refused(2, /^--metric has no "kind"/, ...ablate, '--metric', '{}')
    await refused(
      2,
      /^--answer and --answer-id exclude each other/,
      ...ablate,
      '--answer',
      'a',
      '--answer-id',
      '5',
      '--wrong-id',
      '4',
    )
  })

  it('is refused in an edit', async () => {
    await edited(/zero reads no "value"/, { hook: Z, op: 'zero', value: 3 })
    await edited(/scale reads no "from"/, { hook: Z, op: 'scale', by: 2, from: { item: 0 } })
    await edited(/set reads no "by"/, { hook: Z, op: 'set', value: 1, by: 2 })
    await edited(/has "value" and "from"; give one/, { hook: Z, op: 'set', value: 1, from: { item: 0 } })
    await edited(/add needs "from", or "value" as a finite number/, { hook: Z, op: 'add', value: '-inf' })
    await edited(/"pos" must be a number, a list of numbers, or a slice/, { hook: Z, op: 'zero', pos: [] })
    await edited(/^pos "::2" is not a slice/, { hook: Z, op: 'zero', pos: '::2' })
    await edited(/edit unembed\.hook_out, the same tensor/, { hook: 'logits', op: 'zero' })
  })

  it('is a warning of greedy sampling', async () => {
    const { code, stderr } = await headscope(
      'generate',
      M,
      '--ids',
      '5,9',
      '--max',
      '1',
      '--top-k',
      '4',
      '--top-p',
      '0.5',
    )
    expect(code).toBe(0)
    expect(stderr).toMatch(/--top-k and --top-p choose what is drawn, and temperature 0 draws nothing/)
  })

  it('is a warning of a resumed sweep, which goes on with what is stored', async () => {
    const first = await headscope(
      'ablate',
      M,
      '--ids',
      '5,9,5',
      '--metric',
      LOSS,
      '--store',
      'w.db',
      '--json',
    )
    const { experiment, settings } = JSON.parse(first.stdout)
    const again = await headscope(
      ...['ablate', M, '--resume', String(experiment), '--over', 'mlps', '--store', 'w.db', '--json'],
    )
    expect(JSON.parse(again.stdout)).toMatchObject({
      settings,
      warnings: [expect.stringMatching(/are stored, so --over was not read/)],
    })
  })
})

describe('a slip of the pen', () => {
  it('in a list of ids is no shorter list', async () => {
    for (const ids of ['5,,6', '5,6,', ',5'])
      await refused(1, /has a comma without a number/, 'run', M, '--ids', ids)
    expect((await headscope('run', M, '--ids', ' 5 , 9  5 ', '--no-store')).code).toBe(0)
  })

  it('in a hook without its block names the hooks that end so', async () => {
    await refused(
      1,
      /the nearest are blocks\.0\.attn\.hook_pattern, blocks\.1\.attn\.hook_pattern/,
      ...['run', M, '--ids', '5', '--capture', 'hook_patern'],
    )
  })

  it('in --bos names its choices', async () => {
    await refused(2, /^--bos is one of auto, yes, no, not "maybe"/, 'run', M, '--text', 'a', '--bos', 'maybe')
  })

  it('in --store or --library is named', async () => {
    await refused(2, /^--store is empty/, 'run', M, '--ids', '5', '--store', '')
    await refused(1, /corpus\.txt is a file; name an existing folder/, 'serve', '--library', 'corpus.txt')
  })
})

describe('--out', () => {
  const run = ['run', 'own', '--ids', '1,2', '--no-store', '--capture', 'logits', '--out']

  it('refuses a name that promises another format', async () => {
    for (const ending of ['npz', 'csv', 'json'])
      await refused(2, /^--out writes safetensors, not \./, ...run, `x.${ending}`)
    expect(existsSync(join(folder, 'x.npz'))).toBe(false)
  })

  it('is looked at before anything is computed', async () => {
    await refused(
      1,
      /nowhere does not exist; name a file in a folder that does/,
      ...run,
      'nowhere/x.safetensors',
    )
    await refused(1, /is a folder; name a file with --out/, ...run, '.')
  })

  it('does not write over the checkpoint, but over captures of before', async () => {
    const weights = join(folder, 'own', 'model.safetensors')
    const before = readFileSync(weights)
    await refused(1, /model\.safetensors is a file of the checkpoint/, ...run, 'own/model.safetensors')
    expect(readFileSync(weights).equals(before)).toBe(true)
    for (let i = 0; i < 2; i++) expect((await headscope(...run, 'own/captures.safetensors')).code).toBe(0)
  })
})

it('--no-store is taken by commands that keep nothing', async () => {
  for (const args of [
    ['inspect', M],
    ['lens', M, '--ids', '5,9'],
    ['dla', M, '--ids', '5,9', '--answer-id', '5'],
    ['embed', M, '#42'],
    ['generate', M, '--ids', '5,9', '--max', '1'],
    ['rollout', M, '--ids', '5,9'],
  ])
    expect(await headscope(...args, '--no-store'), args[0]).toMatchObject({ code: 0, stderr: '' })
})

it('an argument that begins with a dash and a space is no option', async () => {
  await headscope('run', M, '--ids', '5', '--store', 'w.db')
  const { stdout } = await headscope('sql', 'w.db', '-- how many\nselect 7 as seven', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ columns: ['seven'], rows: [[7]] })
  expect((await headscope('embed', M, '- the + a')).code).toBe(0)
})

it('one warning for many prompts that are too long, and one for text that grew too long', async () => {
  const scan = await headscope(
    'scan',
    M,
    '--length',
    '140',
    '--batch',
    '6',
    '--scores',
    'induction',
    '--no-store',
    '--json',
  )
  expect(JSON.parse(scan.stdout).warnings).toEqual([
    expect.stringMatching(/^6 of 6 prompts have more tokens than the 256 .*; the longest has 281\.$/),
  ])
  const grown = await headscope(
    'generate',
    M,
    '--ids',
    Array(250).fill(5).join(),
    '--max',
    '10',
    '--ignore-eos',
    '--json',
  )
  expect(JSON.parse(grown.stdout).warnings).toEqual([
    expect.stringMatching(/^The prompt with the new tokens has 260 tokens, more than the 256/),
  ])
})

it('models that only share a folder are no series', async () => {
  const { stdout } = await headscope(
    'scan',
    M,
    'prose-4l',
    '--batch',
    '5',
    '--scores',
    'induction',
    '--no-store',
    '--json',
  )
  const found = JSON.parse(stdout)
  expect(found.models).toHaveLength(2)
  expect(found).not.toHaveProperty('onsets')
  expect(found).not.toHaveProperty('loss_drop')
})

it('a series by its whole path is called by its own name', async () => {
  cpSync(join(folder, 'own'), join(folder, 'series', 'step1'), { recursive: true })
  cpSync(join(folder, 'own'), join(folder, 'series', 'step2'), { recursive: true })
  const { stdout } = await headscope('inspect', join(folder, 'series'))
  expect(stdout).toMatch(/^series step2 \(the last of 2\)/)
})

it.runIf(existsSync('/dev/full'))('a full disk behind stdout is one sentence', () => {
  const full = openSync('/dev/full', 'w')
  try {
    const { status, stderr } = spawnSync(process.execPath, [LAUNCHER, 'inspect', M], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'The output could not be written (the disk is full); free some space, or send it elsewhere.\n',
    })
  } finally {
    closeSync(full)
  }
})

it('what does not exist is null with a reason beside it', async () => {
  const without: string[] = []
  // biome-ignore lint/suspicious/noExplicitAny: any document
  const walk = (value: any, path: string) => {
    if (value === null || typeof value !== 'object') return
    for (const [name, inner] of Object.entries(value)) {
      if (inner === null && !Array.isArray(value) && typeof value.why !== 'string')
        without.push(`${path}.${name}`)
      walk(inner, `${path}.${name}`)
    }
  }
  const exact = join(ROOT, 'test', 'fixtures', 'constructed', 'induction-exact')
  for (const args of [
    ['scan', M, '--batch', '3', '--scores', 'all', '--no-store'],
    ['compare', M, 'prose-4l', '--ids', '5,9,5', '--batch', '3', '--no-store'],
    ['weights', exact],
    ['spans', M, '--ids', '5,9,5,9', '--no-store'],
    ['run', M, '--ids', '5', '--no-store'],
    ['dla', join(ROOT, 'test', 'fixtures', 'transformers', 'bert-mlm'), '--ids', '1,2', '--answer-id', '4'],
  ]) {
    const { stdout, stderr } = await headscope(...args, '--json')
    expect(stderr).toBe('')
    walk(JSON.parse(stdout), args[0]!)
  }
  expect(without).toEqual([])
})
