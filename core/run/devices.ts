/**
 * Where blocks are computed. The CPU is the default and the reference. Another device counts as available when the
 * installed ONNX Runtime lists it and a probe in a process of its own computes on it (about 0.3 s, once).
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { listSupportedBackends } from 'onnxruntime-node'
import { HeadscopeError } from '../errors.ts'

export const DEVICES = ['cpu', 'webgpu', 'cuda', 'coreml', 'dml'] as const
export type Device = (typeof DEVICES)[number]

/** What a probe says: null where the device computes, else why not. */
export type Probe = (device: Device) => Promise<string | null>

/** Devices that compute here. Costs a probe for each that the runtime lists. */
export async function availableDevices(probe: Probe = probeDevice): Promise<Device[]> {
  const reasons = await Promise.all(DEVICES.map((device) => reasonAgainst(device, probe)))
  return DEVICES.filter((_, i) => reasons[i] === null)
}

/** The device of that name. Throws `unsupported` naming those that are available. */
export async function requireDevice(name: string, probe: Probe = probeDevice): Promise<Device> {
  const device = DEVICES.find((known) => known === name)
  const reason = device ? await reasonAgainst(device, probe) : `it is none of ${DEVICES.join(', ')}`
  if (device && reason === null) return device
  const available = await availableDevices(probe)
  throw new HeadscopeError(
    'unsupported',
    `The device ${JSON.stringify(name.slice(0, 40))} is not available (${reason}); available here: ${available.join(', ')}.`,
  )
}

// --- Internal helpers ---

const probed = new Map<Device, Promise<string | null>>()

async function reasonAgainst(device: Device, probe: Probe): Promise<string | null> {
  if (device === 'cpu') return null
  const listed = listSupportedBackends().some((backend) => backend.name === device)
  return listed ? probe(device) : 'the installed ONNX Runtime has no such backend'
}

function probeDevice(device: Device): Promise<string | null> {
  const known = probed.get(device)
  if (known) return known
  const result = new Promise<string | null>((done) => {
    const script = join(import.meta.dirname, 'device-probe.ts')
    execFile(process.execPath, [script, device], { timeout: 30_000 }, (error, stdout) => {
      if (stdout === 'ok') done(null)
      else done(shortened(stdout) || `its driver failed${error?.signal ? ` with ${error.signal}` : ''}`)
    })
  })
  probed.set(device, result)
  return result
}

/** What is left of a native message without its places in the source code. */
function shortened(message: string): string {
  const said = message.replace(/^.*was false\.\s*/, '').replace(/^\S*\.cc:\d+\s+/, '')
  return said.replace(/[.\s]+$/, '').slice(0, 160)
}
