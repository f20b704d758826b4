import { expect, test } from 'vitest'
import { HOST, listenAsUsual, USUAL_PORT } from './listen.ts'

test('the usual port where it is free, else another: two at once both answer', async () => {
  const made = [
    await listenAsUsual(() => new Response('first')),
    await listenAsUsual(() => new Response('second')),
  ]
  try {
    const said = made.map(async ({ port }) => (await fetch(`http://${HOST}:${port}/`)).text())
    expect(await Promise.all(said)).toEqual(['first', 'second'])
    expect(made[1]!.port).not.toBe(USUAL_PORT) // the first has it, or another program
  } finally {
    for (const one of made) await one.close()
  }
})
