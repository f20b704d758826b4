/** What the app takes on disk, what opening costs, GGUF files, and chat: over the API, on the real engine. */
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandLine, ROOT } from '../support/command-line.ts'
import { type Api, MODEL, startApi } from './api-setup.ts'

const FIXTURES = join(ROOT, 'test', 'fixtures')
const HALF = join(FIXTURES, 'transformers', 'qwen2-qkv-bias-f16')
let api: Api
let client: Api['client']

beforeAll(async () => {
  api = await startApi()
  ;({ client } = api)
}, 30_000)
afterAll(() => api.close(), 30_000)

const run = (ids: number[]) =>
  api.resultOf<{ run: number }>(
    client.api.jobs.run.$post({ json: { model: MODEL, prompt: { ids } } }) as never,
  )

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
async function ask(path: string, init?: RequestInit): Promise<any> {
  const answer = await api.raw(path, init)
  return { status: answer.status, ...(await answer.json()) }
}
const post = (path: string, body: unknown = {}) => ask(path, { method: 'POST', body: JSON.stringify(body) })

describe('the workspace', () => {
  it('says what it costs, drops captures, deletes runs, and gives room back', async () => {
    const ids = Array.from({ length: 120 }, (_, i) => 3 + (i % 40))
    const { run: first } = await run(ids)
    const { run: second } = await run(ids.slice(1))
    const before = await ask('/api/store')
    expect(before).toMatchObject({ status: 200, runs: 2, prompts: 2, checkpoints: 1 })
    const library = await (await client.api.library.$get()).json()
    expect(library.runs.map(({ id, captures }) => [id, captures])).toEqual([
      [second, true],
      [first, true],
    ])

    const { freed } = await post(`/api/runs/${first}/keep-scores`)
    expect(freed).toBeGreaterThan(100_000)
    const kept = await ask(`/api/runs/${first}`)
    expect(kept).toMatchObject({ captures: false, hooks: [], bytes: library.runs[1]!.bytes - freed })
    expect(kept.predictions).toHaveLength(120)
    expect(await ask(`/api/runs/${first}/pattern?layer=0&head=0`)).toMatchObject({ status: 404 })

    expect(await ask(`/api/runs/${second}`, { method: 'DELETE' })).toMatchObject({ ok: true })
    expect(await ask(`/api/runs/${second}`)).toMatchObject({ status: 404 })
    expect(await ask(`/api/runs/${second}`, { method: 'DELETE' })).toMatchObject({ status: 404 })
    expect(await post('/api/runs/x/keep-scores')).toMatchObject({ status: 404 })

    const full = await ask('/api/store')
    expect(full).toMatchObject({ runs: 1 })
    expect(full.free).toBeGreaterThan(freed)
    const compacted = await post('/api/store/compact')
    expect(compacted.after).toBeLessThan(compacted.before - freed)
    expect(await ask('/api/store')).toMatchObject({ free: 0 })
    expect(await ask(`/api/runs/${first}`)).toMatchObject({ captures: false })
  })
})

describe('the cache', () => {
  it('is paid for once, said before, and cleared', async () => {
    const cost = (path: string) => ask(`/api/models/cost?path=${encodeURIComponent(path)}`)
    expect(await cost(MODEL)).toMatchObject({ writes: 0, cache: join(api.folder, 'cache') })
    const before = await cost(HALF)
    expect(before.writes).toBeGreaterThan(10_000)
    expect(before.free).toBeGreaterThan(before.writes)
    const weights = join(api.folder, 'cache', 'weights')
    const copies = () =>
      (existsSync(weights) ? readdirSync(weights) : []).filter((name) => /f32\.safetensors$/.test(name))
    const others = copies().length // of the model above

    expect(await post('/api/models/open', { path: HALF })).toMatchObject({ status: 200 })
    expect(await cost(HALF)).toMatchObject({ writes: 0 })
    expect(copies()).toHaveLength(others + 1)
    const { bytes, path } = await ask('/api/cache')
    expect(path).toBe(join(api.folder, 'cache'))
    expect(bytes).toBeGreaterThanOrEqual(before.writes)

    expect(await post('/api/cache/clear')).toMatchObject({ freed: bytes })
    expect(await ask('/api/cache')).toMatchObject({ bytes: 0 })
    expect(await cost(HALF)).toMatchObject({ writes: before.writes })
    const again = await post('/api/predict', { model: HALF, prompt: { ids: [3, 4] }, edits: [] })
    expect(again.base.top[0].prob).toBeGreaterThan(0)
  })

  it('is not cleared under a model that works', async () => {
    const started = await client.api.jobs.scan.$post({ json: { model: MODEL, batch: 500, length: 100 } })
    const { job } = await started.json()
    let answer = await post('/api/cache/clear')
    for (let i = 0; i < 100 && answer.status === 200; i++) answer = await post('/api/cache/clear')
    expect(answer).toMatchObject({ status: 409, error: { code: 'in-use' } })
    await post(`/api/jobs/${job}/cancel`)
    await api.eventsOf(job)
  })
})

describe('GGUF files', () => {
  it('are in the file picker beside folders, open by path, and by a folder that holds one', async () => {
    const folder = join(api.folder, 'picked')
    mkdirSync(join(folder, 'inside'), { recursive: true })
    copyFileSync(join(FIXTURES, 'gguf', 'llama-gqa.f32.gguf'), join(folder, 'a.gguf'))
    copyFileSync(join(FIXTURES, 'gguf', 'llama-gqa.f32.gguf'), join(folder, 'inside', 'b.GGUF'))
    writeFileSync(join(folder, 'notes.txt'), '')
    const listed = await ask(`/api/folders?path=${encodeURIComponent(folder)}`)
    expect(listed.entries).toEqual([
      { name: 'a.gguf', path: join(folder, 'a.gguf'), checkpoint: true, file: true },
      { name: 'inside', path: join(folder, 'inside'), checkpoint: false, file: false },
    ])
    for (const path of [join(folder, 'a.gguf'), join(folder, 'inside')])
      expect(await post('/api/models/open', { path })).toMatchObject({
        status: 200,
        spec: { family: 'llama' },
      })
    copyFileSync(join(folder, 'a.gguf'), join(folder, 'inside', 'c.gguf'))
    const two = await commandLine(api.folder)('inspect', join(folder, 'inside'))
    expect(two.stderr).toBe('inside holds 2 GGUF files (b.GGUF, c.gguf); open one of them by its path.\n')
  })
})

describe('text', () => {
  it('shows special tokens as tokens or as characters, and how a token was merged', async () => {
    const shown = async (specials: object) =>
      (await post('/api/tokenize', { model: MODEL, text: `The${'<|endoftext|>'}`, bos: 'no', ...specials }))
        .tokens
    const plain = await shown({ specials: 'text' })
    expect(plain.some(({ special }: { special: boolean }) => special)).toBe(false)
    expect(plain.length).toBeGreaterThan((await shown({})).length)
    const id = (await post('/api/tokenize', { model: MODEL, text: 'The', bos: 'no' })).tokens[0].id
    const { merges } = await post('/api/tokenize/merges', { model: MODEL, id })
    expect(merges.at(-1)).toMatchObject({ result: 'The', rank: expect.any(Number) })
    expect(merges.at(-1).left + merges.at(-1).right).toBe('The')
    expect(await post('/api/tokenize/merges', { model: MODEL, id: -1 })).toMatchObject({ status: 400 })
  })

  it('goes through the chat template, in the app and on the command line', async () => {
    const model = join(api.folder, 'chat')
    cpSync(join(ROOT, 'models', MODEL), model, {
      recursive: true,
      filter: (path) => !path.includes('checkpoints'),
    })
    writeFileSync(
      join(model, 'chat_template.jinja'),
      '{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}',
    )
    const opened = await post('/api/models/open', { path: model })
    expect(opened.tokenizer).toMatchObject({ chats: true })
    expect((await post('/api/models/open', { path: MODEL })).tokenizer).toMatchObject({ chats: false })
    const said = 'The king'
    const whole = `[user] ${said}\n[assistant]`
    const tokens = (await post('/api/tokenize', { model, text: whole, bos: 'no' })).tokens
    const ids = tokens.map(({ id }: { id: number }) => id)
    const reply = await post('/api/generate', { model, prompt: { text: said }, max: 3, chat: true })
    expect(reply.prompt.map(({ id }: { id: number }) => id)).toEqual(ids)
    expect(reply.tokens).toHaveLength(3)
    const headscope = commandLine(api.folder)
    const { stdout } = await headscope('generate', model, '--chat', '--text', said, '--max', '3', '--json')
    expect(JSON.parse(stdout).items[0]).toMatchObject({
      prompt_ids: ids,
      ids: reply.tokens.map(({ id }: { id: number }) => id),
    })
    expect(await headscope('generate', MODEL, '--chat', '--text', said)).toMatchObject({
      code: 1,
      stderr: 'This checkpoint has no chat template; give the prompt as plain text.\n',
    })
    expect((await headscope('generate', model, '--chat', '--ids', '5')).code).toBe(1)
    expect((await headscope('generate', model, '--chat', '--bos', '--text', said)).code).toBe(2)
    expect(
      await post('/api/generate', { model: MODEL, prompt: { text: said }, max: 3, chat: true }),
    ).toMatchObject({ status: 400 })
  })
})
