/** The command line as scripts use it: the real launcher, real models, one document, the right exit code. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSafetensorsFile, writeSafetensors } from '../../core/checkpoint/index.ts'
import { type CommandLine, commandLine, type Ended, ROOT } from '../support/command-line.ts'

let folder: string
let headscope: CommandLine
const fixture = (...parts: string[]) => join(ROOT, 'test', 'fixtures', ...parts)

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headscope-cli-'))
  headscope = commandLine(folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The one document of a command that succeeded without a word on stderr. */
// biome-ignore lint/suspicious/noExplicitAny: documents are looked at field by field
async function json(...args: string[]): Promise<any> {
  const ended = await headscope(...args, '--json')
  expect(ended.stderr).toBe('')
  expect(ended.code).toBe(0)
  return JSON.parse(ended.stdout)
}

/** One sentence on stderr, nothing on stdout. */
function refused({ code, stdout, stderr }: Ended, exit: number, words: RegExp): void {
  expect(stderr).toMatch(words)
  expect(code).toBe(exit)
  expect(stdout).toBe('')
  expect(stderr).not.toMatch(/\n\s+at /)
  const lines = stderr.trimEnd().split('\n')
  expect(lines).toHaveLength(exit === 2 ? 2 : 1)
  expect(lines[0]).toMatch(/[.?]$/)
}

describe('inspect', () => {
  it('says what a checkpoint is', async () => {
    const found = await json('inspect', 'induction-2l', '--tokens', '100')
    expect(found).toMatchObject({
      headscope: expect.stringMatching(/^\d+\.\d+\.\d+/),
      family: 'gpt_neox',
      model: { path: join(ROOT, 'models', 'induction-2l'), family: 'gpt_neox' },
      spec: { n_layers: 2, d_model: 128, n_heads: 8, n_kv_heads: 8, d_head: 16, d_mlp: 512, tied: true },
      parameters: { total: 527872, unembedding: 0, attention: 4 * 128 * 128 * 2, mlp: 8 * 128 * 128 * 2 },
      kv_cache_bytes_per_token: 2 * 2 * 128 * 4,
      kv_cache_bytes: 100 * 2 * 2 * 128 * 4,
      warnings: [],
    })
    expect(found.model.hash).toMatch(/^[0-9a-f]{64}$/)
    expect(found.hooks).toContainEqual({
      name: 'blocks.1.attn.hook_pattern',
      shape: ['batch', 8, 'query', 'key'],
    })
  })

  it('counts GPT-3 from its config alone, to the last digit', async () => {
    const config = {
      model_type: 'gpt2',
      n_embd: 12288,
      n_layer: 96,
      n_head: 96,
      vocab_size: 50257,
      n_positions: 2048,
    }
    mkdirSync(join(folder, 'gpt3'))
    writeFileSync(join(folder, 'gpt3', 'config.json'), JSON.stringify(config))
    const { parameters, model, ...found } = await json('inspect', 'gpt3/config.json', '--tokens', '2048')
    expect(parameters).toMatchObject({
      per_head: 6_291_456,
      attention: 57_982_058_496,
      mlp: 115_964_116_992,
      embedding: 617_558_016,
      positional: 2048 * 12288,
      unembedding: 0,
    })
    expect(parameters.attention / 96).toBe(603_979_776)
    const matrices = ['attention', 'mlp', 'embedding', 'positional', 'unembedding', 'router']
    expect(matrices.reduce((sum, part) => sum + parameters[part], 0)).toBe(174_588_899_328)
    expect(parameters.total).toBe(174_588_899_328 + parameters.norm + parameters.biases)
    expect(found.kv_cache_bytes_per_token).toBe(2 * 96 * 12288 * 4)
    expect(found.kv_cache_bytes).toBe(2048 * found.kv_cache_bytes_per_token)
    expect(model).toMatchObject({ hash: null, why: expect.any(String) })
    refused(await headscope('inspect', 'gpt3'), 1, /weights|safetensors/)
  })
})

describe('scan', () => {
  it('gives the numbers of the model card', async () => {
    const { heads, definitions, seed, model, warnings } = await json('scan', 'induction-2l', '--no-store')
    const card = readFileSync(join(ROOT, 'models', 'induction-2l', 'README.md'), 'utf8')
    const rows = [...card.matchAll(/^\| L(\d+)H(\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$/gm)]
    expect(rows).toHaveLength(16)
    for (const [, layer, head, ...values] of rows) {
      const scored = heads.find(
        (one: { layer: number; head: number }) => one.layer === +layer! && one.head === +head!,
      )
      const names = ['induction', 'previous_token', 'duplicate_token', 'first_token_sink']
      names.forEach((name, i) => {
        const { value, n, low, high } = scored[name]
        expect(Math.abs(value - Number(values[i])), `L${layer}H${head} ${name}`).toBeLessThan(0.06)
        expect(n).toBe(32)
        expect(low).toBeLessThanOrEqual(value)
        expect(high).toBeGreaterThanOrEqual(value)
      })
    }
    expect(heads[8].induction.rows).toBe(32 * 48)
    expect(Object.keys(definitions)).toEqual([
      'induction',
      'previous_token',
      'duplicate_token',
      'first_token_sink',
    ])
    expect({ seed, warnings }).toEqual({ seed: 1, warnings: [] })
    expect(model.hash).toMatch(/^[0-9a-f]{64}$/)
  })

  it('of a series gives models, and with --at heads', async () => {
    const small = ['--scores', 'induction', '--batch', '2', '--length', '8', '--no-store']
    const { models } = await json('scan', 'induction-2l/checkpoints', ...small)
    expect(models.map((one: { at: string }) => one.at).slice(0, 3)).toEqual(['step0', 'step256', 'step512'])
    expect(models.at(-1).at).toBe('step6000')
    expect(models[0].heads[0].induction).toMatchObject({ n: 2, low: null, why: expect.any(String) })
    const one = await json('scan', 'induction-2l/checkpoints', '--at', 'step512', ...small)
    expect(one).toMatchObject({ model: { at: 'step512' }, heads: expect.any(Array) })
    const two = await json('scan', 'induction-2l', fixture('transformers', 'llama-gqa'), ...small)
    expect(two.models.map((m: { at: string }) => m.at)).toEqual(['induction-2l', 'llama-gqa'])
    refused(
      await headscope('scan', 'induction-2l', '--at', 'step7'),
      1,
      /has no checkpoint step7; it has step0, /,
    )
  })

  it('takes fixed sequences, and refuses those that do not repeat', async () => {
    writeFileSync(
      join(folder, 'ids.json'),
      JSON.stringify([
        [0, 7, 9, 7, 9],
        [0, 3, 4, 3, 4],
      ]),
    )
    const found = await json('scan', 'induction-2l', '--ids-file', 'ids.json', '--no-store')
    expect(found).toMatchObject({ seed: null, settings: { length: 2, batch: 2, bos: true } })
    writeFileSync(join(folder, 'odd.json'), JSON.stringify([[7, 9, 7, 8]]))
    refused(
      await headscope('scan', 'induction-2l', '--ids-file', 'odd.json'),
      1,
      /two halves of sequence 0 differ/,
    )
    refused(await headscope('scan', 'induction-2l', '--scores', 'depth'), 1, /no score "depth"/)
    const bos = await json(
      'scan',
      fixture('transformers', 'neox-serial'),
      '--bos',
      'no',
      '--length',
      '4',
      '--no-store',
    )
    expect(bos.settings.bos).toBe(false)
  })

  it('is kept in the workspace', async () => {
    const store = join(folder, 'scans.db')
    const args = ['--scores', 'induction', '--batch', '5', '--length', '8', '--store', store]
    const { heads } = await json('scan', 'induction-2l', ...args)
    const { columns, rows } = await json(
      'sql',
      store,
      'select head, value from head_score where layer = 1 order by head',
    )
    expect(columns).toEqual(['head', 'value'])
    expect(rows).toHaveLength(8)
    expect(rows[3][1]).toBe(heads[11].induction.value)
  })
})

describe('run', () => {
  it('says what follows every token', async () => {
    const { items, captured, model } = await json(
      'run',
      'induction-2l',
      '--text',
      'The king. The k',
      '--top',
      '3',
      '--no-store',
    )
    const [item] = items
    expect(item.ids[0]).toBe(0)
    expect(item.tokens).toHaveLength(item.ids.length)
    expect(item.positions).toHaveLength(item.ids.length)
    const last = item.positions.at(-1)
    expect(last).toMatchObject({ pos: item.ids.length - 1, loss: null, why: expect.any(String) })
    expect(last.top).toHaveLength(3)
    expect(last.top[0]).toMatchObject({ token: 'ing', id: expect.any(Number), logit: expect.any(Number) })
    expect(last.top[0].prob).toBeGreaterThan(0.5)
    expect(item.loss).toBeGreaterThan(0)
    expect(captured).toEqual([])
    expect(model.family).toBe('gpt_neox')
  })

  it('writes captures of a batch of unequal lengths, each as it is alone', async () => {
    const short = '0,7,9'
    const long = '0,7,9,4,7'
    const globs = [
      '--capture',
      '*hook_pattern',
      '--capture',
      'blocks.1.hook_resid_post',
      '--capture',
      'logits',
      '--no-store',
    ]
    const run = (file: string, ...ids: string[]) =>
      json(
        'run',
        'induction-2l',
        ...ids.flatMap((one) => ['--ids', one]),
        ...globs,
        '--out',
        join(folder, file),
      )
    const { captured } = await run('both.safetensors', short, long)
    expect(captured).toEqual([
      'blocks.0.attn.hook_pattern',
      'blocks.1.attn.hook_pattern',
      'blocks.1.hook_resid_post',
      'logits',
    ])
    await run('short.safetensors', short)
    const both = readSafetensorsFile(join(folder, 'both.safetensors'))
    const alone = readSafetensorsFile(join(folder, 'short.safetensors'))
    expect(Array.from(both.get('input_ids')!.data as BigInt64Array, Number)).toEqual([
      0, 7, 9, 0, 0, 0, 7, 9, 4, 7,
    ])
    expect(Array.from(both.get('attention_mask')!.data as BigInt64Array, Number)).toEqual([
      1, 1, 1, 0, 0, 1, 1, 1, 1, 1,
    ])
    const logits = both.get('logits')!
    expect(logits).toMatchObject({ dtype: 'F32', shape: [2, 5, 1024] })
    const own = logits.data.subarray(0, 3 * 1024) as Float32Array
    const expected = alone.get('logits')!.data as Float32Array
    expect(Math.max(...own.map((value, i) => Math.abs(value - expected[i]!)))).toBeLessThan(1e-4)
    expect((logits.data.subarray(3 * 1024, 5 * 1024) as Float32Array).every((value) => value === 0)).toBe(
      true,
    )
    expect(both.get('blocks.0.attn.hook_pattern')!.shape).toEqual([2, 8, 5, 5])
  })

  it('acts with edits, and reads a stored run', async () => {
    const store = join(folder, 'runs.db')
    const prompt = ['run', 'induction-2l', '--ids', '0,7,9,4,7', '--top', '1', '--store', store]
    const zero = '{"hook": "blocks.1.attn.hook_z", "op": "zero"}'
    const base = await json(...prompt, '--capture', 'blocks.1.attn.hook_z')
    const edited = await json(...prompt, '--edit', zero)
    expect(edited.items[0].loss).not.toBeCloseTo(base.items[0].loss, 3)
    const back = `{"hook": "blocks.1.attn.hook_z", "op": "set", "from": {"run": ${base.run}}}`
    const restored = await json(...prompt, '--edit', zero, '--edit', back)
    expect(restored.items[0].loss).toBeCloseTo(base.items[0].loss, 5)
    const { rows } = await json('sql', store, 'select id, edits from run order by id')
    expect(rows).toEqual([
      [base.run, 0],
      [edited.run, 1],
      [restored.run, 2],
    ])
    const head = await json(
      'run',
      'induction-2l',
      '--ids',
      '0,7,9',
      '--no-store',
      '--edit',
      '{"hook": "blocks.1.attn.hook_z", "pos": -1, "head": [0, -1], "op": "scale", "by": 0.5}',
    )
    expect(head.items).toHaveLength(1)
  })

  it('reads prompts from files, and --bos concerns text only', async () => {
    writeFileSync(join(folder, 'p.txt'), 'The king\r\n\nA queen\n')
    writeFileSync(join(folder, 'p.jsonl'), '{"text": "The king"}\n{"ids": [7, 9]}\n')
    const ids = async (...args: string[]) =>
      (await json('run', 'induction-2l', '--top', '0', '--no-store', ...args)).items.map(
        (item: { ids: number[] }) => item.ids,
      )
    const [king, queen] = await ids('--prompts', 'p.txt')
    expect(king[0]).toBe(0)
    expect(queen[0]).toBe(0)
    expect(await ids('--prompts', 'p.jsonl', '--bos', 'no')).toEqual([king.slice(1), [7, 9]])
    expect(await ids('--text', '<|endoftext|>The king', '--bos', 'yes')).toEqual([king])
    const dashes = await ids('--text', '--- The king')
    expect(dashes[0].length).toBeGreaterThan(2)
    writeFileSync(join(folder, 'bad.jsonl'), '{"text": "a"}\n{"txt": 1}\n')
    refused(
      await headscope('run', 'induction-2l', '--prompts', 'bad.jsonl'),
      1,
      /^bad\.jsonl, line 2 must hold/,
    )
  })

  it('has losses with --top 0 too', async () => {
    const ids = ['run', 'induction-2l', '--ids', '0,7,9,4', '--no-store']
    const [none, some] = [await json(...ids, '--top', '0'), await json(...ids)]
    expect(none.items[0].loss).toBe(some.items[0].loss)
    expect(none.items[0].positions.map((one: { top: unknown[] }) => one.top)).toEqual([[], [], [], []])
  })

  it('of one token has no loss, and says why', async () => {
    const { items } = await json('run', 'induction-2l', '--ids', '7', '--no-store')
    expect(items[0]).toMatchObject({ loss: null, why: 'one token predicts no other' })
  })

  it('never prints NaN', async () => {
    for (const name of ['weights-nan', 'weights-inf', 'weights-overflow']) {
      const { code, stdout } = await headscope(
        'run',
        fixture('hostile', name),
        '--ids',
        '1,2,3',
        '--no-store',
        '--json',
      )
      expect(code, name).toBe(0)
      expect(stdout).not.toMatch(/:\s*-?(NaN|Infinity)/)
      const { items, warnings } = JSON.parse(stdout)
      expect(warnings.length, name).toBeGreaterThan(0)
      for (const { top } of items[0].positions)
        for (const one of top) if (one.prob === null) expect(one.why).toEqual(expect.any(String))
    }
  })

  it('refuses what does not fit, before anything is kept', async () => {
    const store = join(folder, 'none.db')
    const bad = async (words: RegExp, ...args: string[]) =>
      refused(await headscope('run', 'induction-2l', ...args, '--store', store), 1, words)
    await bad(/holds the id 5000, but ids of this model are whole numbers from 0 to 1023/, '--ids', '5000')
    await bad(/empty/, '--text', '')
    await bad(/--ids holds "x"/, '--ids', '1,x')
    await bad(
      /matches no hook of this model; the nearest are/,
      '--ids',
      '1',
      '--capture',
      'blocks.*.hook_patern',
    )
    await bad(/The edit is not JSON/, '--ids', '1', '--edit', 'zero')
    await bad(
      /The edit does not fit: it has no field "heads"/,
      '--ids',
      '1',
      '--edit',
      '{"hook": "hook_embed", "op": "zero", "heads": 1}',
    )
    await bad(
      /There is no head 9/,
      '--ids',
      '1',
      '--edit',
      '{"hook": "blocks.0.attn.hook_z", "op": "zero", "head": 9}',
    )
    await bad(/device "cuda" is not available/, '--ids', '1', '--device', 'cuda')
    const { rows } = await json('sql', store, 'select count(*) from run')
    expect(rows).toEqual([[0]])
  })
})

describe('generate', () => {
  it('continues, and the cache equals an uncached pass', async () => {
    const text = 'The queen Zorblat spoke to the king Mimsy. The king Mimsy answered the queen Zor'
    const { items, seed } = await json('generate', 'induction-2l', '--text', text, '--max', '4')
    expect(items[0].text).toMatch(/^blat/)
    expect(items[0].ids).toHaveLength(4)
    expect(items[0]).toMatchObject({ cached_equals_uncached: true, stopped: 'max' })
    expect(items[0].prompt_ids[0]).toBe(0)
    expect(seed).toBe(0)
  })

  it('draws by seed, and captures prompt and new tokens', async () => {
    const draw = [
      'generate',
      'induction-2l',
      '--ids',
      '0,7,9',
      '--max',
      '5',
      '--temperature',
      '1.5',
      '--top-k',
      '50',
    ]
    const a = await json(...draw, '--seed', '3')
    const b = await json(...draw, '--seed', '3')
    const c = await json(...draw, '--seed', '4', '--top-p', '0.9')
    expect(a.items[0].ids).toEqual(b.items[0].ids)
    expect(c.items[0].ids).not.toEqual(a.items[0].ids)
    const out = join(folder, 'made.safetensors')
    const made = await json(...draw, '--ids', '0,7', '--capture', '*hook_pattern', '--out', out)
    const file = readSafetensorsFile(out)
    expect(file.get('blocks.1.attn.hook_pattern')!.shape).toEqual([2, 8, 7, 7])
    const whole = [...made.items[0].prompt_ids, ...made.items[0].ids].slice(0, 7)
    expect(Array.from(file.get('input_ids')!.data as BigInt64Array, Number).slice(0, 7)).toEqual(whole)
    await json(
      'run',
      'induction-2l',
      '--ids',
      whole.join(),
      '--capture',
      '*hook_pattern',
      '--out',
      join(folder, 'whole.safetensors'),
      '--no-store',
    )
    const uncached = readSafetensorsFile(join(folder, 'whole.safetensors')).get('blocks.1.attn.hook_pattern')!
      .data as Float32Array
    const cached = file.get('blocks.1.attn.hook_pattern')!.data.subarray(0, uncached.length) as Float32Array
    expect(Math.max(...uncached.map((value, i) => Math.abs(value - cached[i]!)))).toBeLessThan(1e-5)
    refused(await headscope(...draw, '--top-p', '2'), 1, /top-p must lie above 0/)
  })
})

describe('verify', () => {
  const golden = fixture('transformers', 'llama-gqa', 'golden.safetensors')

  it('is self-consistent, and matches a reference', async () => {
    const self = await json('verify', 'induction-2l')
    expect(self.ok).toBe(true)
    for (const check of self.checks)
      expect(check).toMatchObject(
        check.ok === null ? { why: expect.any(String) } : { max_error: expect.any(Number) },
      )
    const matched = await json('verify', fixture('transformers', 'llama-gqa'), '--golden', golden)
    expect(matched.ok).toBe(true)
    expect(matched.checks.length).toBeGreaterThan(self.checks.length)
  })

  it('exits with 3 when a check fails', async () => {
    const tensors = readSafetensorsFile(golden)
    const logits = Float32Array.from(tensors.get('logits')!.data as Float32Array)
    logits[5] = logits[5]! + 1
    const wrong = join(folder, 'wrong.safetensors')
    writeSafetensors(wrong, [
      { name: 'input_ids', ...tensors.get('input_ids')! },
      { name: 'logits', shape: tensors.get('logits')!.shape, data: logits },
    ])
    const { code, stdout, stderr } = await headscope(
      'verify',
      fixture('transformers', 'llama-gqa'),
      '--golden',
      wrong,
      '--json',
    )
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    const { ok, checks } = JSON.parse(stdout)
    expect(ok).toBe(false)
    expect(checks.filter((check: { ok: boolean }) => check.ok === false)).toMatchObject([{ name: 'logits' }])
  })
})

describe('sql', () => {
  it('only reads', async () => {
    const store = join(folder, 'scans.db')
    refused(await headscope('sql', store, 'delete from run'), 1, /only reads/)
    refused(await headscope('sql', store, 'select x from run'), 1, /no such column: x/)
    refused(await headscope('sql', join(folder, 'absent.db'), 'select 1'), 1, /no workspace here/)
    writeFileSync(
      join(folder, 'other.db'),
      'this is no database, but it is long enough to be looked at as one'.repeat(20),
    )
    refused(await headscope('sql', join(folder, 'other.db'), 'select 1'), 1, /other\.db/)
    const { columns, rows, truncated } = await json('sql', store, 'values (1), (2), (3)', '--limit', '2')
    expect({ columns, rows, truncated }).toMatchObject({ rows: [[1], [2]], truncated: true })
  })

  it('ends a query that would not end', async () => {
    const endless = 'with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c'
    const store = join(folder, 'scans.db')
    refused(await headscope('sql', store, endless, '--seconds', '0.5'), 1, /ended after 0.5 s; ask for less/)
    refused(await headscope('sql', store, 'select 1', '--seconds', '0'), 2, /--seconds is 0/)
  })
})

it('bench gives ratios', async () => {
  const { results, tokens, rounds } = await json('bench', 'induction-2l', '--rounds', '2', '--tokens', '16')
  expect({ tokens, rounds }).toEqual({ tokens: 16, rounds: 2 })
  expect(results[0]).toMatchObject({ name: 'bare forward', ratio: 1 })
  for (const { ms, ratio } of results) expect(Math.min(ms, ratio)).toBeGreaterThan(0)
})

it('bench refuses what does not fit, with both numbers', async () => {
  const { code, stderr, stdout } = await headscope('bench', 'induction-2l', '--tokens', '1000000')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(
    /^A run of 1000000 tokens would take about [\d.]+ GB of memory .* are free;[^\n]*\n$/,
  )
})

describe('models', () => {
  it('a bare bundled name wins over a folder; ./name is the folder', async () => {
    mkdirSync(join(folder, 'induction-2l'))
    writeFileSync(join(folder, 'induction-2l', 'config.json'), '{}')
    expect((await json('inspect', 'induction-2l')).model.path).toBe(join(ROOT, 'models', 'induction-2l'))
    refused(await headscope('inspect', './induction-2l'), 1, /holds config\.json but no/)
    rmSync(join(folder, 'induction-2l'), { recursive: true })
  })

  it('of a series takes the last and names it', async () => {
    const { model } = await json('inspect', 'induction-2l/checkpoints')
    expect(model).toMatchObject({
      at: 'step6000',
      path: join(ROOT, 'models', 'induction-2l', 'checkpoints', 'step6000'),
    })
    expect((await headscope('inspect', 'induction-2l/checkpoints')).stdout).toMatch(
      /^induction-2l step6000 \(the last of 13\)/,
    )
    expect((await json('inspect', 'induction-2l', '--at', 'step0')).model.at).toBe('step0')
  })

  it('that cannot be opened are one sentence', async () => {
    refused(await headscope('inspect', 'nowhere'), 1, /There is no "nowhere": .*induction-2l, prose-4l/)
    refused(await headscope('inspect', fixture('hostile', 'config-model-type-unknown')), 1, /Headscope runs /)
    refused(
      await headscope('scan', fixture('hostile', 'st-truncated-64'), '--no-store'),
      1,
      /model\.safetensors/,
    )
    refused(await headscope('inspect', folder), 1, /config\.json/)
  })
})
