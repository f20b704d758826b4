/**
 * Routes that are one method of the compute worker. In: the method's name. Out: a handler that puts the model's folder
 * in place of its name, and answers with what the method gives, or with the job that works on it.
 */
import { basename } from 'node:path'
import type { Context, Env, TypedResponse } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { ComputeMethods } from './compute/methods.ts'
import type { InputOf, ResultOf } from './compute/rpc.ts'
import type { JobStarted } from './contract.ts'
import type { ApiDeps } from './deps.ts'

/** Methods that are asked about one model. */
type Method = {
  [K in keyof ComputeMethods]: InputOf<ComputeMethods[K]> extends { readonly model: string } ? K : never
}[keyof ComputeMethods]
type Asked<K extends Method> = InputOf<ComputeMethods[K]> & { readonly model: string }
/** A request whose body was validated as R. */
type With<R> = Context<Env, string, { in: { json: R }; out: { json: R } }>

/** A question: answered when it is, given up when the client goes away. */
export function ask<K extends Method>(
  { catalogue, compute }: Pick<ApiDeps, 'catalogue' | 'compute'>,
  method: K,
) {
  type Reply = ResultOf<ComputeMethods[K]>
  return async (
    c: With<Asked<K>>,
  ): Promise<Response & TypedResponse<Reply, ContentfulStatusCode, 'json'>> => {
    const request = c.req.valid('json')
    const placed = { ...request, model: catalogue.folder(request.model) }
    const reply = await compute.call(method, placed, { signal: c.req.raw.signal })
    return c.json(reply) as Response & TypedResponse<Reply, ContentfulStatusCode, 'json'>
  }
}

/** Long work: `label` says what it is, with the model's name behind it. */
export function startJob<K extends Method>(
  { catalogue, compute, jobs }: Pick<ApiDeps, 'catalogue' | 'compute' | 'jobs'>,
  method: K,
  label: string,
) {
  return (c: With<Asked<K>>) => {
    const request = c.req.valid('json')
    const folder = catalogue.folder(request.model)
    const work = (
      options: Parameters<Parameters<typeof jobs.start>[1]>[0],
    ): Promise<ResultOf<ComputeMethods[K]>> => compute.call(method, { ...request, model: folder }, options)
    return c.json<JobStarted>({ job: jobs.start(`${label}, ${basename(folder)}`, work) })
  }
}
