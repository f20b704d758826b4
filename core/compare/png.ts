/** A small picture as PNG bytes, 8 bits a channel, without a library. In: RGB pixels. Out: a file (ISO/IEC 15948). */
import { crc32, deflateSync } from 'node:zlib'

export function png(width: number, height: number, rgb: Uint8Array): Buffer {
  const rows = Buffer.alloc(height * (1 + 3 * width)) // filter 0 before each row
  for (let y = 0; y < height; y++)
    rows.set(rgb.subarray(3 * y * width, 3 * (y + 1) * width), y * (1 + 3 * width) + 1)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8) // 8 bits, RGB, deflate, adaptive filters, no interlace
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

// --- Internal helpers ---

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  framed.set(body, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
