/** Notes on heads and the notebook of figures: the store (S37 to S39 of core/store/SPEC.md), the routes, the command. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { FigureReply, NotebookReply, NoteReply, NotesReply, PinReply } from '../../core/api/contract.ts'
import { openStore, type Store } from '../../core/store/capture-store.ts'
import type { FigureInput } from '../../core/store/figures.ts'
import { MIGRATIONS, migrate } from '../../core/store/migrate.ts'
import { commandLine } from '../support/command-line.ts'
import { type Api, errorOf, MODEL, startApi } from './api-setup.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-notes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const checkpoint = { contentHash: 'c0ffee', path: '/models/a', name: 'a', family: 'llama' }
const figure: FigureInput = {
  title: 'a: pattern of L1H7',
  svg: '<svg xmlns="http://www.w3.org/2000/svg"><text>·&lt;b&gt;</text></svg>',
  csv: 'query,weight\n0,1\n',
  provenance: ['checkpoint a (c0ffee)', 'prompt “<b>”'],
  state: 'model=a&head=L1H7',
  command: 'headscope run a',
  script: null,
}

describe('the store', () => {
  let next = 0
  let path: string
  let store: Store
  beforeEach(() => {
    path = join(folder, `${next++}.db`)
    store = openStore(path)
  })
  afterEach(() => store.close())

  it('keeps one note per head of the weights, and takes it away with an empty text (S37)', () => {
    const note = (layer: number, head: number, text: string) =>
      store.saveHeadNote(checkpoint, { layer, head, text })
    note(1, 7, 'looks back\n<img src=x onerror=alert(1)>')
    note(0, 2, 'previous token')
    note(1, 7, 'induction')
    store.saveHeadNote({ ...checkpoint, contentHash: 'decaf' }, { layer: 1, head: 7, text: 'of another' })
    const texts = () => store.headNotes('c0ffee').map((one) => [one.layer, one.head, one.text])
    expect(texts()).toEqual([
      [0, 2, 'previous token'],
      [1, 7, 'induction'],
    ])
    store.saveHeadNote({ ...checkpoint, path: '/elsewhere' }, { layer: 1, head: 7, text: ' as it is \n' })
    expect(texts()[1]).toEqual([1, 7, ' as it is \n'])
    expect(note(0, 2, ' \n ')).toBeNull()
    expect(texts()).toEqual([[1, 7, ' as it is \n']])
    expect(store.headNotes('decaf')).toHaveLength(1)
    expect(store.headNotes('unknown')).toEqual([])
  })

  it('refuses what is no head or no note, and writes nothing then (S37)', () => {
    for (const [layer, head] of [
      [-1, 0],
      [0, 1.5],
    ] as const)
      expect(() => store.saveHeadNote(checkpoint, { layer, head, text: 'x' })).toThrow(/is no head/)
    expect(() => store.saveHeadNote(checkpoint, { layer: 0, head: 0, text: 'x'.repeat(20_001) })).toThrow(
      /at most 20000/,
    )
    expect(store.headNotes('c0ffee')).toEqual([])
  })

  it('gives a figure back as it was pinned; only note and place change (S38)', () => {
    const id = store.pinFigure({ ...figure, note: 'first' })
    store.noteFigure(id, 'second')
    const other = openStore(path, { readonly: true })
    expect(other.figure(id)).toMatchObject({ ...figure, note: 'second', bytes: figure.svg.length + 17 })
    expect(other.figures()[0]).not.toHaveProperty('svg')
    expect(() => other.pinFigure(figure)).toThrow(/reading only/)
    other.close()
    store.deleteFigure(id)
    expect(store.pinFigure(figure)).toBeGreaterThan(id)
    for (const gone of [() => store.figure(id), () => store.noteFigure(id, ''), () => store.deleteFigure(id)])
      expect(gone).toThrow(`Figure ${id} is not in this notebook.`)
  })

  it('keeps an order, and what is not named in it (S39)', () => {
    const ids = [1, 2, 3, 4].map((i) => store.pinFigure({ ...figure, title: `figure ${i}` }))
    const order = () => store.figures().map(({ id }) => ids.indexOf(id) + 1)
    store.orderFigures([ids[2]!, ids[0]!])
    expect(order()).toEqual([3, 1, 2, 4])
    expect(() => store.orderFigures([ids[3]!, 99])).toThrow('Figure 99 is not in this notebook.')
    expect(order()).toEqual([3, 1, 2, 4])
    store.deleteFigure(ids[0]!)
    store.pinFigure({ ...figure, title: 'last' })
    expect(order()).toEqual([3, 2, 4, 0])
  })

  it.each([
    [{ svg: '<html></html>' }, /no SVG document/],
    [{ svg: '<svg>' }, /no SVG document/],
    [{ title: '  ' }, /needs a title/],
    [{ csv: 'x'.repeat(4_000_001) }, /table of this figure has 4000001/],
    [{ note: 'x'.repeat(20_001) }, /note has 20001/],
  ] as const)('refuses a figure with %o', (change, message) => {
    expect(() => store.pinFigure({ ...figure, ...change })).toThrow(message)
    expect(store.figures()).toEqual([])
  })

  it('of the version before has no notes to read, and gets them when it is written to (S3)', () => {
    store.close()
    const old = join(folder, `${next++}.db`)
    openStore(old).close()
    rmSync(old)
    const db = new Database(old)
    migrate(db, old, MIGRATIONS.slice(0, 1))
    db.pragma('journal_mode = WAL')
    db.close()
    const reading = openStore(old, { readonly: true })
    expect([reading.figures(), reading.headNotes('c0ffee')]).toEqual([[], []])
    expect(() => reading.figure(1)).toThrow(/not in this notebook/)
    reading.close()
    store = openStore(old)
    expect(store.pinFigure(figure)).toBe(1)
    store.saveHeadNote(checkpoint, { layer: 0, head: 0, text: 'new' })
    expect(store.headNotes('c0ffee')).toHaveLength(1)
  })
})

describe('the routes', () => {
  let api: Api
  beforeAll(async () => {
    api = await startApi()
  })
  afterAll(() => api?.close())

  const put = (path: string, body: unknown) => api.raw(path, { method: 'PUT', body: JSON.stringify(body) })
  const json = async <T>(response: Promise<Response>): Promise<T> => {
    const answer = await response
    expect(answer.status, await answer.clone().text()).toBe(200)
    return (await answer.json()) as T
  }

  it('write, read and remove a note on a head of a checkpoint', async () => {
    const at = { model: MODEL, layer: 1, head: 3 }
    const text = '<script>alert(1)</script> “ü”\nsecond line'
    const { note } = await json<NoteReply>(put('/api/notes', { ...at, text }))
    expect(note).toMatchObject({ layer: 1, head: 3, text })
    const listed = () => json<NotesReply>(api.raw(`/api/notes?model=${MODEL}`))
    expect(await listed()).toEqual([note])
    const step = encodeURIComponent(`${MODEL}/checkpoints/step0`)
    expect(await json<NotesReply>(api.raw(`/api/notes?model=${step}`))).toEqual([])
    expect(await json<NoteReply>(put('/api/notes', { ...at, text: '' }))).toEqual({ note: null })
    expect(await listed()).toEqual([])
  })

  it('name the head that a checkpoint does not have, and the limit of a note', async () => {
    expect(await errorOf(put('/api/notes', { model: MODEL, layer: 2, head: 0, text: 'x' }))).toMatchObject({
      status: 400,
      message: 'induction-2l has no head L2H0: it has 2 layers of 8 heads.',
    })
    const long = { model: MODEL, layer: 0, head: 0, text: 'x'.repeat(20_001) }
    expect((await errorOf(put('/api/notes', long))).message).toContain('a note has at most 20000 characters')
  })

  it('pin figures, put them in order, note them, and write them as one file', async () => {
    const pin = (title: string) =>
      json<PinReply>(api.raw('/api/notebook', { method: 'POST', body: JSON.stringify({ ...figure, title }) }))
    const [a, b] = [await pin('first'), await pin('second')]
    await json(put(`/api/notebook/${a.id}/note`, { text: 'so <img src=x onerror=alert(1)>' }))
    const ordered = await json<NotebookReply>(put('/api/notebook/order', { ids: [b.id, a.id] }))
    expect(ordered.map(({ title }) => title)).toEqual(['second', 'first'])
    expect(await json<FigureReply>(api.raw(`/api/notebook/${a.id}`))).toMatchObject({
      ...figure,
      title: 'first',
      note: 'so <img src=x onerror=alert(1)>',
    })
    const file = await api.raw('/api/notebook/export')
    expect(file.headers.get('content-disposition')).toContain('notebook.html')
    const html = await file.text()
    expect(html.indexOf('<h2>second')).toBeLessThan(html.indexOf('<h2>first'))
    expect(html).toContain('so &lt;img src=x onerror=alert(1)&gt;')
    expect((await api.raw(`/api/notebook/${b.id}`, { method: 'DELETE' })).status).toBe(200)
    expect(await errorOf(api.raw(`/api/notebook/${b.id}`))).toMatchObject({ status: 404 })
    expect(await errorOf(put('/api/notebook/order', { ids: [b.id] }))).toMatchObject({ code: 'not-found' })
  })

  it('refuse a figure that is no SVG', async () => {
    const body = JSON.stringify({ ...figure, svg: 'hello' })
    expect(await errorOf(api.raw('/api/notebook', { method: 'POST', body }))).toMatchObject({
      code: 'bad-request',
      message: 'The figure is no SVG document: it has to begin with <svg and to end with </svg>.',
    })
  })
})

describe('headscope notebook', () => {
  it('lists the figures and writes them as one file', async () => {
    const headscope = commandLine(folder)
    const path = join(folder, 'command.db')
    const store = openStore(path)
    store.pinFigure({ ...figure, note: 'a note' })
    store.close()
    const listed = await headscope('notebook', '--store', path)
    expect(listed.stdout).toContain('a: pattern of L1H7')
    const file = join(folder, 'notebook.html')
    const written = await headscope('notebook', '--store', path, '--out', file)
    expect([written.code, written.stdout]).toEqual([0, `1 figure written to ${file}\n`])
    expect(readFileSync(file, 'utf8')).toContain('<h2>a: pattern of L1H7</h2>')
    const wrong = await headscope('notebook', '--store', path, '--out', join(folder, 'notebook.txt'))
    expect(wrong.code).not.toBe(0)
    expect(wrong.stderr).toContain('it ends in .html')
  })
})
