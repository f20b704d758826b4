/** One of two checkpoints: what the library has, members of series, or the folder that is typed. */
import { useId } from 'react'
import type { Library } from '../../../core/api/contract.ts'

interface Props {
  readonly label: string
  readonly library: Library | undefined
  readonly value: string
  readonly onChange: (path: string) => void
}

export function CheckpointField({ label, library, value, onChange }: Props) {
  const id = useId()
  return (
    <label className="field compare-field">
      <span>{label}</span>
      <input
        className="input"
        list={id}
        spellCheck={false}
        placeholder="a checkpoint of the library, or a folder"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      <datalist id={id}>
        {library?.models.flatMap((model) => [
          <option key={model.path} value={model.path}>
            {model.name}
          </option>,
          ...model.series.map((member) => (
            <option key={member.path} value={member.path}>
              {model.name} · {member.at}
            </option>
          )),
        ])}
      </datalist>
    </label>
  )
}
