/** “where X attends to Y”: two choices of tokens. */
import { useQuery } from '@tanstack/react-query'
import { headsApi } from '../../api/heads.ts'
import { Choice } from '../../ui/select.tsx'
import { type Asker, type Picks, setPick, usePicks } from './picks.ts'

export function PickFields({ asker }: { asker: Asker }) {
  const classes = useQuery({ queryKey: ['token-classes'], queryFn: headsApi.classes })
  const names = classes.data ?? []
  return (
    <>
      <PickField asker={asker} side="query" label="where" names={names} />
      <PickField asker={asker} side="key" label="attends to" names={names} />
    </>
  )
}

interface Props {
  readonly asker: Asker
  readonly side: keyof Picks
  readonly label: string
  readonly names: readonly string[]
}

function PickField({ asker, side, label, names }: Props) {
  const pick = usePicks(asker)[side]
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
        onChange={(kind) => setPick(asker, side, { ...pick, kind })}
      />
      {pick.kind === 'words' && (
        <input
          className="input corpus-words"
          aria-label={`Words of the ${side}, with commas between`}
          placeholder="Dorothy, Toto"
          spellCheck={false}
          value={pick.words}
          onChange={(event) => setPick(asker, side, { ...pick, words: event.target.value })}
        />
      )}
    </span>
  )
}
