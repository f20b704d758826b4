import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createCatalogue } from './catalogue.ts'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'headscope-catalogue-'))
})
afterEach(() => rm(root, { recursive: true }))

async function checkpoint(...parts: string[]): Promise<string> {
  const folder = join(root, ...parts)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'config.json'), '{}')
  await writeFile(join(folder, 'model.safetensors'), '')
  return folder
}

const make = () =>
  createCatalogue({
    bundledDir: join(root, 'models'),
    library: join(root, 'lib'),
    dataDir: join(root, 'data'),
  })

it('lists bundled, library and recent checkpoints, series in natural order', async () => {
  await checkpoint('models', 'tiny-10')
  await checkpoint('models', 'tiny-2')
  for (const step of ['step10', 'step9']) await checkpoint('models', 'tiny-2', 'checkpoints', step)
  for (const step of ['step1', 'step20']) await checkpoint('lib', 'deep', 'series', step)
  const recent = await checkpoint('elsewhere', 'mine')
  const catalogue = make()
  await catalogue.remember(recent)
  await catalogue.remember(join(root, 'models', 'tiny-2'))
  expect(await catalogue.models()).toEqual([
    {
      path: 'tiny-2',
      name: 'tiny-2',
      origin: 'bundled',
      series: [
        { at: 'step9', path: 'tiny-2/checkpoints/step9' },
        { at: 'step10', path: 'tiny-2/checkpoints/step10' },
      ],
    },
    { path: 'tiny-10', name: 'tiny-10', origin: 'bundled', series: [] },
    {
      path: join(root, 'lib/deep/series/step20'),
      name: 'series',
      origin: 'library',
      series: ['step1', 'step20'].map((at) => ({ at, path: join(root, 'lib/deep/series', at) })),
    },
    { path: recent, name: 'mine', origin: 'recent', series: [] },
  ])
})

it('finds the folder of a name, and the series beside a step', async () => {
  const tiny = await checkpoint('models', 'tiny')
  for (const step of ['step1', 'step2']) await checkpoint('models', 'tiny', 'checkpoints', step)
  const catalogue = make()
  expect(catalogue.folder('tiny')).toBe(tiny)
  expect(catalogue.folder(tiny)).toBe(tiny)
  expect(catalogue.folder('tiny/checkpoints')).toBe(join(tiny, 'checkpoints', 'step2'))
  expect(catalogue.series(join(tiny, 'checkpoints', 'step1')).map(({ at }) => at)).toEqual(['step1', 'step2'])
})

it('refuses names that leave the bundled folder, and says which there are', async () => {
  await checkpoint('models', 'tiny')
  await checkpoint('secret')
  const catalogue = make()
  for (const name of ['../secret', 'none', '.', 'tiny/../../secret']) {
    expect(() => catalogue.folder(name)).toThrow(/No bundled model is called .* or one of tiny\./)
  }
  expect(() => catalogue.folder('')).toThrow('Name a checkpoint folder')
})

it('keeps recents newest first, each once, written whole; a damaged list is an empty one', async () => {
  const [a, b] = [await checkpoint('x', 'alpha'), await checkpoint('x', 'beta')]
  const catalogue = make()
  for (const folder of [a, b, a]) await catalogue.remember(folder)
  expect(JSON.parse(await readFile(join(root, 'data', 'recents.json'), 'utf8'))).toEqual([a, b])
  expect(await readdir(join(root, 'data'))).toEqual(['recents.json'])
  await Promise.all([a, b, a, b].map((folder) => catalogue.remember(folder)))
  expect(JSON.parse(await readFile(join(root, 'data', 'recents.json'), 'utf8'))).toEqual([b, a])
  await catalogue.remember(a)
  await rm(b, { recursive: true })
  expect((await catalogue.models()).map(({ path }) => path)).toEqual([a])
  await writeFile(join(root, 'data', 'recents.json'), '{"not a li')
  expect(await catalogue.models()).toEqual([])
})
