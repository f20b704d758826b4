/**
 * An SVG as PNG at print size: 300 dots an inch, and the file says so. In: SVG text that embeds all it shows. Out: the
 * file's bytes. Very large figures get fewer dots: browsers refuse canvases beyond some 10,000 pixels a side.
 */

const DPI = 300
const CSS_DPI = 96
const MOST_SIDE = 12_000
const MOST_PIXELS = 60e6

/** Throws an Error in one sentence when the browser cannot draw or encode it. */
export async function svgPng(svg: string, width: number, height: number): Promise<Blob> {
  const scale = Math.min(
    DPI / CSS_DPI,
    MOST_SIDE / Math.max(width, height),
    Math.sqrt(MOST_PIXELS / (width * height)),
  )
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }))
  try {
    const image = new Image()
    image.src = url
    await image.decode()
    const canvas = document.createElement('canvas')
    canvas.width = Math.round(width * scale)
    canvas.height = Math.round(height * scale)
    const context = canvas.getContext('2d')!
    context.fillStyle = '#fff'
    context.fillRect(0, 0, canvas.width, canvas.height)
    context.drawImage(image, 0, 0, canvas.width, canvas.height)
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'))
    if (!blob) throw new Error('The picture could not be encoded as PNG; save it as SVG.')
    const bytes = withDensity(new Uint8Array(await blob.arrayBuffer()), CSS_DPI * scale)
    return new Blob([bytes], { type: 'image/png' })
  } finally {
    URL.revokeObjectURL(url)
  }
}

/** The same PNG with a pHYs chunk (ISO/IEC 15948, 11.3.5.3) behind its header: how many dots an inch it is meant for. */
export function withDensity(png: Uint8Array, dpi: number): Uint8Array<ArrayBuffer> {
  const HEADER = 8 + 25 // signature, IHDR
  const chunk = new Uint8Array(21)
  const view = new DataView(chunk.buffer)
  const perMetre = Math.round(dpi / 0.0254)
  view.setUint32(0, 9)
  chunk.set([0x70, 0x48, 0x59, 0x73], 4) // pHYs
  view.setUint32(8, perMetre)
  view.setUint32(12, perMetre)
  view.setUint8(16, 1) // metres
  view.setUint32(17, crc32(chunk.subarray(4, 17)))
  const out = new Uint8Array(png.length + chunk.length)
  out.set(png.subarray(0, HEADER))
  out.set(chunk, HEADER)
  out.set(png.subarray(HEADER), HEADER + chunk.length)
  return out
}

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
