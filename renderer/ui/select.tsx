/** One choice of a few, as a menu. */
import { Select } from '@base-ui/react/select'

interface Props<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly { readonly value: T; readonly label: string }[]
  readonly onChange: (value: T) => void
}

export function Choice<T extends string>({ label, value, options, onChange }: Props<T>) {
  return (
    <Select.Root items={options} value={value} onValueChange={(next) => next !== null && onChange(next)}>
      <Select.Trigger className="choice" aria-label={label}>
        <Select.Value />
        <Select.Icon className="choice-icon">▾</Select.Icon>
      </Select.Trigger>
      <Select.Portal>
        <Select.Positioner sideOffset={4} className="choice-positioner" alignItemWithTrigger={false}>
          <Select.Popup className="choice-popup">
            {options.map((option) => (
              <Select.Item key={option.value} value={option.value} className="choice-item">
                <Select.ItemText>{option.label}</Select.ItemText>
              </Select.Item>
            ))}
          </Select.Popup>
        </Select.Positioner>
      </Select.Portal>
    </Select.Root>
  )
}
