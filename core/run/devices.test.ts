/** Devices are refused by name, with what is available; the CPU is always there. */
import { listSupportedBackends } from 'onnxruntime-node'
import { expect, test } from 'vitest'
import { availableDevices, DEVICES, type Device, requireDevice } from './devices.ts'

const listed = listSupportedBackends().map((backend) => backend.name)
const only = (device: Device) => (asked: Device) =>
  Promise.resolve(asked === device ? null : `no ${asked} here`)

test('the cpu needs no probe', async () => {
  const fail = () => Promise.reject(new Error('probed'))
  expect(await requireDevice('cpu', fail)).toBe('cpu')
})

test('a device that the runtime lists and that computes is taken', async () => {
  expect(listed).toContain('webgpu')
  expect(await requireDevice('webgpu', only('webgpu'))).toBe('webgpu')
  expect(await availableDevices(only('webgpu'))).toEqual(['cpu', 'webgpu'])
})

test('one that does not compute is refused with the reason and what is available', async () => {
  await expect(requireDevice('webgpu', () => Promise.resolve('no adapter'))).rejects.toThrow(
    /^The device "webgpu" is not available \(no adapter\); available here: cpu\.$/,
  )
  await expect(requireDevice('tpu', only('webgpu'))).rejects.toThrow(
    /^The device "tpu" is not available \(it is none of .*\); available here: cpu, webgpu\.$/,
  )
  const unlisted = DEVICES.find((device) => !listed.includes(device))!
  await expect(requireDevice(unlisted, only('cpu'))).rejects.toThrow('has no such backend')
})

test('the real probe answers: each device computes, or a sentence says why not', async () => {
  const available = await availableDevices()
  expect(available).toContain('cpu')
  for (const device of DEVICES.filter((one) => !available.includes(one)))
    await expect(requireDevice(device)).rejects.toThrow(/^The device "\w+" is not available \([^)]+/)
})
