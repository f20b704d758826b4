/**
 * A request of the API as a command line and as a script that give the same. In: plain data. Out: text, quoted for a
 * POSIX shell and for TypeScript. Pure; costs nothing.
 */
import type {
  AblateRequest,
  AttributeRequest,
  PatchRequest,
  PathRequest,
  PromptInput,
  Reproduced,
  ReproduceRequest,
  RunRequest,
  ScanRequest,
} from './contract.ts'

/** Both forms. `path`: the folder that a script opens, where the request has a bundled name. */
export function reproduce(asked: ReproduceRequest, path: string): Reproduced {
  return { command: commandOf(asked), script: scriptOf(asked, path) }
}

/** One command line. */
export function commandOf({ kind, request }: ReproduceRequest): string {
  return ['headscope', kind, ...wordsOf({ kind, request } as ReproduceRequest)].map(quoted).join(' ')
}

/** One word of a POSIX shell. */
export function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

// --- Internal helpers ---

function wordsOf(asked: ReproduceRequest): string[] {
  switch (asked.kind) {
    case 'run':
      return [asked.request.model, ...promptWords(asked.request.prompt), ...editWords(asked.request)]
    case 'scan':
      return [asked.request.model, ...scanWords(asked.request)]
    case 'ablate':
      return ablateWords(asked.request)
    case 'patch':
      return patchWords(asked.request)
    case 'path':
      return pathWords(asked.request)
    default:
      return attributeWords(asked.request)
  }
}

/** `--name value`, or nothing. */
function option(name: string, value: string | number | undefined): string[] {
  return value === undefined ? [] : [`--${name}`, String(value)]
}

function promptWords(
  prompt: PromptInput,
  names: readonly [text: string, ids: string] = ['text', 'ids'],
): string[] {
  const { decoder } = prompt
  return [
    ...(prompt.ids ? option(names[1], prompt.ids.join(',')) : option(names[0], prompt.text ?? '')),
    ...(decoder ? promptWords(decoder, ['decoder-text', 'decoder-ids']) : []),
    ...(prompt.bos && prompt.bos !== 'auto' ? option('bos', prompt.bos) : []),
  ]
}

/** Both prompts of a pair; the beginning-of-text rule is one for the command. */
function pairWords({ clean, corrupt }: { clean: PromptInput; corrupt: PromptInput }): string[] {
  const { bos: _, ...plain } = corrupt
  return [
    ...promptWords(clean, ['clean', 'clean-ids']),
    ...promptWords(clean.bos === undefined ? corrupt : plain, ['corrupt', 'corrupt-ids']),
  ]
}

function editWords({ edits = [] }: RunRequest): string[] {
  return edits.flatMap((edit) => ['--edit', JSON.stringify(edit)])
}

function scanWords({ scores, bos, length, batch, seed }: ScanRequest): string[] {
  return [
    ...option('scores', scores?.join(',')),
    ...option('bos', bos === undefined ? undefined : bos ? 'yes' : 'no'),
    ...option('length', length),
    ...option('batch', batch),
    ...option('seed', seed),
  ]
}

function ablateWords(request: AblateRequest): string[] {
  return [
    request.model,
    ...promptWords(request.prompt),
    ...option('over', request.over),
    ...option('kind', request.kind),
    ...option('metric', JSON.stringify(request.metric)),
    ...(request.reference ?? []).flatMap((prompt) =>
      promptWords({ ...prompt, bos: 'auto' }, ['reference-text', 'reference-ids']),
    ),
    ...option('mean-over', request.meanOver),
  ]
}

function patchWords(request: PatchRequest): string[] {
  return [
    request.model,
    ...pairWords(request),
    ...option('site', request.site),
    ...option('by', request.by),
    ...option('direction', request.direction),
    ...option('metric', JSON.stringify(request.metric)),
  ]
}

function pathWords(request: PathRequest): string[] {
  return [
    request.model,
    ...pairWords(request),
    ...option('from', request.from.join(',')),
    ...option('to', request.to.join(',')),
    ...option('mlps', request.mlps),
    ...option('metric', JSON.stringify(request.metric)),
  ]
}

function attributeWords(request: AttributeRequest): string[] {
  return [
    request.model,
    ...pairWords(request),
    ...option('sites', request.sites?.join(',')),
    ...option('verify', request.verify),
    ...(request.gradDrop ? ['--grad-drop'] : []),
    ...option('metric', JSON.stringify(request.metric)),
  ]
}

function scriptOf(asked: ReproduceRequest, path: string): string {
  const [name, lines] = callOf(asked)
  return [
    `import { ${[name, 'openModel'].filter((one) => one !== '').join(', ')} } from 'headscope'`,
    '',
    `const model = await openModel(${code(path)})`,
    ...lines,
    'console.log(JSON.stringify(result, null, 2))',
    'await model.close()',
    '',
  ].join('\n')
}

/** The function that is imported, and the lines that call it. */
function callOf(asked: ReproduceRequest): [string, string[]] {
  switch (asked.kind) {
    case 'run': {
      const { prompt, edits = [] } = asked.request
      const own = prompt.decoder?.ids ? { decoderIds: [prompt.decoder.ids] } : {}
      return [
        '',
        [
          `const prompt = ${encoded(prompt)}`,
          `const { items: result } = await model.run(prompt, ${code({ edits, ...own })})`,
        ],
      ]
    }
    case 'scan': {
      const { model: _, ...options } = asked.request
      return ['scanHeads', [`const result = await scanHeads(model, ${code(options)})`]]
    }
    case 'ablate': {
      const { model: _m, prompt, reference, resume: _r, ...options } = asked.request
      const others = reference ? `, reference: [${reference.map(encoded).join(', ')}]` : ''
      return [
        'ablate',
        [
          `const prompt = ${encoded(prompt)}`,
          `const result = await ablate(model, prompt, { ${fields(options)}${others} })`,
        ],
      ]
    }
    default: {
      const { model: _m, clean, corrupt, resume: _r, ...options } = asked.request
      const name = asked.kind === 'path' ? 'pathPatch' : asked.kind
      return [
        name,
        [
          `const clean = ${encoded(clean)}`,
          `const corrupt = ${encoded(corrupt)}`,
          `const result = await ${name}(model, clean, corrupt, { ${fields(options)} })`,
        ],
      ]
    }
  }
}

function encoded({ text, ids, bos }: PromptInput): string {
  if (ids) return code(ids)
  return `model.encode(${code(text ?? '')}${bos ? `, { bos: ${code(bos)} }` : ''})`
}

function fields(options: object): string {
  return Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${code(value)}`)
    .join(', ')
}

/** JSON is an expression of TypeScript. */
function code(value: unknown): string {
  return JSON.stringify(value)
}
