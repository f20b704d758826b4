import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { readWindowState, writeWindowState } from './window-state.ts'

const folder = mkdtempSync(join(tmpdir(), 'headscope-window-'))
const file = join(folder, 'deep', 'window.json')
const screen = { x: 0, y: 0, width: 1920, height: 1080 }
const fresh = { bounds: { width: 1440, height: 900 }, maximized: false }
afterAll(() => rmSync(folder, { recursive: true }))

it('is kept', () => {
  expect(readWindowState(file, [screen])).toEqual(fresh)
  const state = { bounds: { x: 5, y: 6, width: 900, height: 700 }, maximized: true }
  writeWindowState(file, state)
  expect(readWindowState(file, [screen])).toEqual(state)
})

it('forgets a place that is on no screen, but not the size', () => {
  for (const place of [
    { x: 2000, y: 0 },
    { x: -850, y: 0 },
    { x: 0, y: -50 },
    { x: 0, y: 1050 },
  ]) {
    writeWindowState(file, { bounds: { ...place, width: 900, height: 700 }, maximized: false })
    expect(readWindowState(file, [screen]).bounds).toEqual({ width: 900, height: 700 })
    expect(readWindowState(file, [screen, { ...screen, x: place.x, y: place.y }]).bounds).toMatchObject(place)
  }
})

it('survives a damaged file', () => {
  for (const text of ['', '{', '[]', '{"bounds":{"width":1,"height":"2"}}']) {
    writeFileSync(file, text)
    expect(readWindowState(file, [screen])).toEqual(fresh)
  }
})
