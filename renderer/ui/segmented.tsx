/** One choice of two or three, all in view. */
import { Toggle } from '@base-ui/react/toggle'
import { ToggleGroup } from '@base-ui/react/toggle-group'

interface Props<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly { readonly value: T; readonly label: string; readonly disabled?: boolean }[]
  readonly onChange: (value: T) => void
}

export function Segmented<T extends string>({ label, value, options, onChange }: Props<T>) {
  return (
    <ToggleGroup
      className="segmented"
      aria-label={label}
      value={[value]}
      onValueChange={(next: string[]) => next[0] !== undefined && onChange(next[0] as T)}
    >
      {options.map((option) => (
        <Toggle
          key={option.value}
          value={option.value}
          className="segment"
          disabled={option.disabled ?? false}
        >
          {option.label}
        </Toggle>
      ))}
    </ToggleGroup>
  )
}
