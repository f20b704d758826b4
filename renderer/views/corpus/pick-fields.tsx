/** “where X attends to Y”: two choices of tokens. */
import { useQuery } from '@tanstack/react-query'
import { headsApi } from '../../api/heads.ts'
import { Choice } from '../../ui/select.tsx'
import { type Picks, setPick, usePicks } from './picks.ts'

export function PickFields() {
  const classes = useQuery({ queryKey: ['token-classes'], queryFn: headsApi.classes })
  const names = classes.data ?? []
  return (
    <>
      <PickField side="query" label="where" names={names} />
      <PickField side="key" label="attends to" names={names} />
    </>
  )
}

function PickField({ side, label, names }: { side: keyof Picks; label: string; names: readonly string[] }) {
  const pick = usePicks()[side]
  return (
    <span className="field">
      <span>{label}</span>
      <Choice
        label={side === 'query' ? 'Tokens that attend' : 'Tokens that are attended to'}
        value={pick.kind}
        options={[
          { value: 'any', label: 'any token' },
          ...names.map((name) => ({ value: name, label: name })),
          { value: 'words', label: 'these words…' },
        ]}
        onChange={(kind) => setPick(side, { ...pick, kind })}
      />
      {pick.kind === 'words' && (
        <input
          className="input corpus-words"
          aria-label={`Words of the ${side}, with commas between`}
          placeholder="Dorothy, Toto"
          spellCheck={false}
          value={pick.words}
          onChange={(event) => setPick(side, { ...pick, words: event.target.value })}
        />
      )}
    </span>
  )
}
