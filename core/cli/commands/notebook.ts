/** `headscope notebook`: the pinned figures of a workspace, as a list or as one HTML file. Nothing is computed. */
import { existsSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { HeadscopeError } from '../../errors.ts'
import { command } from '../command.ts'
import { bytes, printable, table } from '../table.ts'

export const notebook = command({
  name: 'notebook',
  usage: '[--out F.html] [options]',
  summary: 'The pinned figures of the workspace with their notes; --out writes them as one HTML file',
  detail:
    'Figures are pinned in the app. The file opens offline and holds all of it: figures, notes, numbers as CSV, where each figure comes from, and the command and script that give it again. Without --out the figures are listed.',
  examples: [
    'headscope notebook',
    'headscope notebook --out notebook.html',
    'headscope notebook --store work.db --json',
  ],
  options: {
    out: { type: 'text', value: 'F.html', help: 'write the notebook: one file, offline' },
    store: { type: 'text', value: 'FILE', help: 'the workspace (default: the user’s)' },
  },
  takes: [0, 0],
  async run({ values, out }) {
    const file = values.out === undefined ? null : outFile(values.out)
    const [{ storePath }, { openStore }] = await Promise.all([
      import('../store.ts'),
      import('../../store/capture-store.ts'),
    ])
    const store = openStore(storePath({ store: values.store, 'no-store': false })!, { readonly: true })
    try {
      const figures = store.figures()
      if (file !== null) {
        const [{ notebookHtml }, { writeAtomically }, { versions }] = await Promise.all([
          import('../../notebook/notebook-html.ts'),
          import('../../checkpoint/safetensors-write.ts'),
          import('../../run/versions.ts'),
        ])
        const whole = figures.map(({ id }) => store.figure(id))
        const created = new Date().toISOString()
        const html = notebookHtml({ headscope: versions.headscope, created, figures: whole })
        writeAtomically(file, (write) => write(Buffer.from(html)))
      }
      if (out.json) out.document({ figures, ...(file === null ? {} : { out: file }), warnings: [] })
      else if (file !== null)
        out.line(`${figures.length} ${figures.length === 1 ? 'figure' : 'figures'} written to ${file}`)
      else list(figures)
      return 0
    } finally {
      store.close()
    }

    function list(figures: ReturnType<typeof store.figures>): void {
      if (figures.length === 0) {
        out.line('No figure is pinned; pin one in the app with Export, Pin to notebook.')
        return
      }
      const columns = [
        { title: 'figure', right: true },
        { title: 'title' },
        { title: 'size', right: true },
        { title: 'pinned' },
        { title: 'note' },
      ]
      const rows = figures.map(({ id, title, bytes: size, created, note }) => [
        { text: String(id), paint: out.style.bold },
        { text: printable(title) },
        { text: bytes(size) },
        { text: created.slice(0, 16).replace('T', ' ') },
        { text: printable(note.replace(/\s+/g, ' ').slice(0, 40)) },
      ])
      for (const line of table(columns, rows, out.style.bold)) out.line(line)
    }
  },
})

// --- Internal helpers ---

/** A file that cannot be written is said before anything is read. */
function outFile(given: string): string {
  const file = resolve(given)
  if (!/\.html?$/i.test(file))
    throw new HeadscopeError(
      'bad-request',
      `${basename(file)} is not the name of a notebook: it ends in .html.`,
    )
  if (!existsSync(dirname(file)))
    throw new HeadscopeError(
      'not-found',
      `${dirname(file)} does not exist; name a file in a folder that does.`,
    )
  return file
}
