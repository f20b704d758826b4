/**
 * A real Chromium for end-to-end tests and pictures, on any machine. In: nothing. Out: a launched browser.
 * The system's /usr/bin/chromium where there is one; else the binary inside @sparticuz/chromium, unpacked once into the
 * temporary folder (about 4 s, 250 MB) together with the shared libraries and fonts that a minimal Linux lacks.
 */
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const SYSTEM = '/usr/bin/chromium'
/** Of what is written beside the binary: a folder of another layout is not taken for this one. */
const LAYOUT = 2
const [OWN_FONTS, ALL_FONTS] = ['own-fonts.conf', 'all-fonts.conf']

const ARGS = [
  '--no-sandbox', // test machines run as root, where the sandbox refuses to start
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-sync',
  '--no-first-run',
  '--no-pings',
  '--font-render-hinting=none',
  '--force-color-profile=srgb',
]

export interface BrowserOptions {
  readonly args?: readonly string[]
  /** Always the packaged binary, with no font but its own: the same picture on every machine. */
  readonly packaged?: boolean
}

/** Starts Chromium without a window. Close it with `browser.close()`. */
export async function launchBrowser(options: BrowserOptions = {}): Promise<Browser> {
  const args = [...ARGS, ...(options.args ?? [])]
  if (existsSync(SYSTEM) && !options.packaged)
    return chromium.launch({ executablePath: SYSTEM, args, headless: true })
  const folder = await unpacked()
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([, value]) => value !== undefined),
  )
  return chromium.launch({
    executablePath: join(folder, 'chromium'),
    args: [...args, '--headless'],
    headless: true,
    env: {
      ...(environment as Record<string, string>),
      LD_LIBRARY_PATH: [join(folder, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
      FONTCONFIG_FILE: join(folder, options.packaged ? OWN_FONTS : ALL_FONTS),
    },
  })
}

// --- Internal helpers ---

/** Folder with the unpacked binary, libraries and fonts. Unpacked beside and renamed, so that a half never counts. */
async function unpacked(): Promise<string> {
  const require = createRequire(import.meta.url)
  const build = dirname(require.resolve('@sparticuz/chromium'))
  const root = resolve(build, '../..')
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const done = join(tmpdir(), `headscope-chromium-${version}-${LAYOUT}`)
  if (existsSync(join(done, 'chromium'))) return done
  const { inflate } = (await import(join(root, 'build', 'esm', 'lambdafs.js'))) as {
    inflate: (file: string) => Promise<string>
  }
  const partial = mkdtempSync(`${done}-`)
  const before = process.env.TMPDIR
  process.env.TMPDIR = partial // inflate() reads it at once and writes below it
  const parts = ['chromium.br', 'fonts.tar.br', 'al2023.tar.br', 'swiftshader.tar.br'].map((name) =>
    inflate(join(root, 'bin', name)),
  )
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  await Promise.all(parts)
  const own = join(done, 'fonts')
  writeFileSync(join(partial, OWN_FONTS), fontsConfig([own], join(done, 'own-cache')))
  writeFileSync(join(partial, ALL_FONTS), fontsConfig([own, '/usr/share/fonts'], join(done, 'all-cache')))
  try {
    renameSync(partial, done)
  } catch {
    rmSync(partial, { recursive: true, force: true }) // another process was first
  }
  return done
}

/** The package's own file names /tmp/fonts; without any font, Chromium dies at the first text field. */
function fontsConfig(folders: readonly string[], cache: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
${folders.map((folder) => `  <dir>${folder}</dir>`).join('\n')}
  <cachedir>${cache}</cachedir>
</fontconfig>
`
}
