/**
 * An app on a port of this machine only. In: something that answers requests, a port or none. Out: the port, and the
 * way to close. Never listens on an outside address: a remote machine is reached over a tunnel.
 */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { HeadscopeError } from '../errors.ts'

export const HOST = '127.0.0.1'

export interface Listening {
  /** The address that the system says it listens on. */
  readonly address: string
  readonly port: number
  close(): Promise<void>
}

/** The app's port in a browser: pins, theme and panes are kept by the browser for this address. */
export const USUAL_PORT = 8571

/** Listens on the usual port, or on a free one where that is taken. */
export async function listenAsUsual(
  fetch: (request: Request) => Response | Promise<Response>,
): Promise<Listening> {
  try {
    return await listen(fetch, USUAL_PORT)
  } catch {
    return listen(fetch)
  }
}

/** Listens on 127.0.0.1. Throws in-use or bad-request, naming the port. */
export async function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  port = 0,
): Promise<Listening> {
  if (!Number.isInteger(port) || port < 0 || port > 65535) {
    throw new HeadscopeError('bad-request', `The port ${port} is not a port: give a number from 1 to 65535.`)
  }
  const server = createAdaptorServer({ fetch }) as Server
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explain(error, port)))
    server.listen(port, HOST, resolve)
  })
  const { address, port: found } = server.address() as AddressInfo
  return {
    address,
    port: found,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections() // streams of events would hold it open
      }),
  }
}

function explain(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code === 'EADDRINUSE') {
    return new HeadscopeError(
      'in-use',
      `The port ${port} on ${HOST} is used by another program: choose another one, or none for a free one.`,
      { cause: error },
    )
  }
  if (error.code === 'EACCES') {
    return new HeadscopeError('bad-request', `You may not use the port ${port}: choose one above 1023.`, {
      cause: error,
    })
  }
  return error
}
