/** Whether the checkpoint is run right: self-consistent, or matching a reference; every check behind it on a click. */
import { Popover } from '@base-ui/react/popover'
import { useState } from 'react'
import { useVerify } from '../../api/verify.ts'

export function VerifyBadge() {
  const [golden, setGolden] = useState('')
  const [typed, setTyped] = useState('')
  const { data, error, isFetching } = useVerify(golden)
  if (!data && !error && !isFetching) return null
  const failed = data?.checks.filter((check) => check.ok === false).length ?? 0
  const good = golden === '' ? 'self-consistent ✓' : 'matches a reference ✓'
  const label = isFetching
    ? 'checking…'
    : error
      ? 'not checked'
      : data?.ok
        ? good
        : `${failed} ${failed === 1 ? 'check fails' : 'checks fail'} ✗`
  return (
    <Popover.Root>
      <Popover.Trigger
        className={`verify-badge ${data && !data.ok ? 'is-bad' : ''}`}
        title="Identities that hold on every correct run. Click for each check."
      >
        {label}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Positioner className="verify-positioner" sideOffset={8} align="end">
          <Popover.Popup className="verify-popup">
            <Popover.Title className="verify-title">Is this checkpoint run right?</Popover.Title>
            {error && (
              <p role="alert" className="problem">
                {error.message}
              </p>
            )}
            {data && (
              <table className="verify-table">
                <thead>
                  <tr>
                    <th scope="col">check</th>
                    <th scope="col">error</th>
                    <th scope="col">allowed</th>
                  </tr>
                </thead>
                <tbody>
                  {data.checks.map((check) => (
                    <tr
                      key={check.name}
                      className={check.ok === false ? 'is-bad' : check.ok === null ? 'muted' : ''}
                    >
                      <td>
                        {check.ok === null ? '–' : check.ok ? '✓' : '✗'} {check.name}
                        {check.why && <div className="muted">{check.why}</div>}
                      </td>
                      <td className="number">
                        {check.max_error === null ? '' : check.max_error.toExponential(1)}
                      </td>
                      <td className="number">{check.tolerance.toExponential(0)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
            <form
              className="verify-golden"
              onSubmit={(event) => {
                event.preventDefault()
                setGolden(typed.trim())
              }}
            >
              <label>
                Reference values (a .safetensors file with input_ids and hooks)
                <input
                  type="text"
                  value={typed}
                  onChange={(event) => setTyped(event.target.value)}
                  placeholder="/path/to/golden.safetensors"
                  aria-label="Path of the reference values"
                />
              </label>
              <button type="submit">Compare</button>
            </form>
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}
