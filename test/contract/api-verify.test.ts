/** POST /api/verify on the bundled model and with reference values, over HTTP. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { VerifyReply } from '../../core/api/contract-verify.ts'
import { type AppEngine, startAppEngine } from '../e2e/app-engine.ts'
import { FIXTURES } from '../support/golden.ts'

const FOLDER = join(FIXTURES, 'transformers', 'neox-serial')

describe('verify', () => {
  let engine: AppEngine
  beforeAll(async () => {
    engine = await startAppEngine()
  })
  afterAll(() => engine.close())

  const ask = (body: object) => {
    const { origin, searchParams } = new URL(engine.url)
    return fetch(`${origin}/api/verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${searchParams.get('token')}` },
      body: JSON.stringify(body),
    })
  }

  test('the identities hold, or say why they do not apply', async () => {
    const reply = (await (await ask({ model: 'induction-2l' })).json()) as VerifyReply
    expect(reply.ok).toBe(true)
    expect(reply.checks.length).toBeGreaterThan(9)
    for (const check of reply.checks) if (check.ok === null) expect(check.why).toBeTruthy()
  })

  test('reference values are compared hook by hook', async () => {
    const golden = join(FOLDER, 'golden.safetensors')
    const reply = (await (await ask({ model: FOLDER, golden })).json()) as VerifyReply
    expect(reply.checks.some((check) => check.name.includes('blocks.1.attn.hook_pattern') && check.ok)).toBe(
      true,
    )
    expect(reply.ok).toBe(true)
  })

  test('a file that is not there is one sentence', async () => {
    const response = await ask({ model: FOLDER, golden: '/no/such/file.safetensors' })
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect((await response.json()).error.message).toMatch(/file\.safetensors/)
  })
})
