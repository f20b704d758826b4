/** Chooses the texts: bundled prose, a paste, or a file. */

import { type ChangeEvent, useRef } from 'react'
import { grouped } from '../../state/format.ts'
import { Segmented } from '../../ui/segmented.tsx'
import { setSource, takeFile, useSource, useTexts } from './source.ts'

export function SourceBar() {
  const source = useSource()
  const texts = useTexts()
  const input = useRef<HTMLInputElement>(null)
  const choose = (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0]
    if (file) void takeFile(file)
    event.target.value = '' // the same file may be chosen again
  }
  const problem = source.problem ?? texts.problem
  return (
    <div className="corpus-source">
      <div className="toolbar is-wrapping">
        <span className="field">
          <span>texts</span>
          <Segmented
            label="Texts"
            value={source.kind}
            options={[
              { value: 'prose', label: 'bundled prose' },
              { value: 'pasted', label: 'pasted' },
              { value: 'file', label: source.file?.name ?? 'file', disabled: source.file === null },
            ]}
            onChange={(kind) => setSource({ kind })}
          />
        </span>
        <button type="button" className="button small" onClick={() => input.current?.click()}>
          Choose a file…
        </button>
        <input
          ref={input}
          type="file"
          accept=".txt,.jsonl"
          className="corpus-file"
          tabIndex={-1}
          aria-label="File of texts"
          onChange={choose}
        />
        <label className="field">
          <span>read the first</span>
          <input
            className="input corpus-count"
            type="number"
            min={1}
            max={100_000}
            value={source.most}
            onChange={(event) => {
              const most = Math.floor(Number(event.target.value))
              if (most >= 1) setSource({ most: Math.min(100_000, most) })
            }}
          />
          <span>{texts.loading ? 'reading…' : `of ${grouped(texts.total)}, one text a line`}</span>
        </label>
        <span className="muted small-text corpus-drop">or drop a .txt or .jsonl here</span>
      </div>
      {source.kind === 'pasted' && (
        <textarea
          className="input editor-text corpus-paste"
          aria-label="Pasted texts, one a line"
          placeholder="Paste texts here, one a line. A … B should come back as A: that is what is looked for."
          rows={4}
          spellCheck={false}
          value={source.pasted}
          onChange={(event) => setSource({ pasted: event.target.value })}
        />
      )}
      {problem !== null && (
        <p className="problem corpus-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}
