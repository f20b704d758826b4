/** The note on the selected head, in the inspector. It belongs to the checkpoint's weights. */
import { saveNote, useNotes } from '../../api/notebook.ts'
import { type HeadId, headName, sameHead } from '../../state/selection.ts'
import { NoteField } from './note-field.tsx'

export function HeadNote({ head, model }: { head: HeadId; model: string }) {
  const notes = useNotes()
  const name = headName(head)
  const stored = notes.data && (notes.data.find((note) => sameHead(note, head))?.text ?? '')
  return (
    <section aria-label={`Note on ${name}`}>
      <h3 className="pane-title">
        Note <span>kept with these weights</span>
      </h3>
      {notes.isError ? (
        <p className="problem small-text">{notes.error.message}</p>
      ) : (
        <NoteField
          key={`${model} ${name} ${notes.isPending}`}
          label={`Note on ${name}`}
          placeholder={`What does ${name} do?`}
          stored={stored}
          save={(text) => saveNote({ model, ...head, text })}
        />
      )}
    </section>
  )
}
