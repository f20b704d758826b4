/**
 * A request of the API as a command line and as a script that give the same. In: plain data. Out: text, quoted for a
 * POSIX shell and for TypeScript. Pure; costs nothing.
 */
import type {
  AblateRequest,
  AnalysisRequest,
  AttributeRequest,
  PatchRequest,
  PathRequest,
  PromptInput,
  Reproduced,
  ReproduceRequest,
  RunRequest,
  ScanRequest,
} from './contract.ts'
import { analysisCommand, analysisScript } from './reproduce-analyses.ts'
import type { Folders, ScriptForm } from './reproduce-forms.ts'
import { code, decoderCode, encoded, fields, option, promptWords, quoted } from './reproduce-words.ts'

/** Both forms. `folders`: what a script opens, where the request has bundled names. */
export function reproduce(asked: ReproduceRequest, folders: Folders): Reproduced {
  return { command: commandOf(asked, folders), script: scriptOf(asked, folders) }
}

/** One command line, null where only a script does this. */
export function commandOf(asked: ReproduceRequest, folders: Folders): string | null {
  const line = (name: string, words: readonly string[]) => ['headscope', name, ...words].map(quoted).join(' ')
  if (!isAnalysis(asked)) return line(asked.kind, wordsOf(asked))
  const form = analysisCommand(asked, folders)
  return form && [...(form.before ? [form.before] : []), line(form.name, form.words)].join('\n')
}

// --- Internal helpers ---

type RunOrSweep = Exclude<ReproduceRequest, AnalysisRequest>

const RUNS_AND_SWEEPS: readonly string[] = ['run', 'scan', 'ablate', 'patch', 'path', 'attribute']

function isAnalysis(asked: ReproduceRequest): asked is AnalysisRequest {
  return !RUNS_AND_SWEEPS.includes(asked.kind)
}

function wordsOf(asked: RunOrSweep): string[] {
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

/** Both prompts of a pair; the beginning-of-text rule is one for the command. */
function pairWords({ clean, corrupt }: { clean: PromptInput; corrupt: PromptInput }): string[] {
  const { bos: _, ...plain } = corrupt
  return [
    ...promptWords(clean, ['clean', 'clean-ids', 'clean-decoder', 'clean-decoder-ids']),
    ...promptWords(clean.bos === undefined ? corrupt : plain, [
      'corrupt',
      'corrupt-ids',
      'corrupt-decoder',
      'corrupt-decoder-ids',
    ]),
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
    ...option('from', request.from?.join(',')),
    ...option('to', request.to?.join(',')),
    ...option('edges', request.edges?.map(({ from, to }) => `${from}:${to}`).join(',')),
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

function scriptOf(asked: ReproduceRequest, folders: Folders): string {
  const { imports, lines } = isAnalysis(asked) ? analysisScript(asked, folders) : callOf(asked)
  return [
    `import { ${[...imports, 'openModel'].join(', ')} } from 'headscope'`,
    '',
    `const model = await openModel(${code(folders.path)})`,
    ...lines,
    'console.log(JSON.stringify(result, null, 2))',
    'await model.close()',
    '',
  ].join('\n')
}

/** What is imported, and the lines that call it. */
function callOf(asked: RunOrSweep): ScriptForm {
  switch (asked.kind) {
    case 'run': {
      const { prompt, edits = [] } = asked.request
      const own = prompt.decoder?.ids ? { decoderIds: [prompt.decoder.ids] } : {}
      return {
        imports: [],
        lines: [
          `const prompt = ${encoded(prompt)}`,
          `const { items: result } = await model.run(prompt, ${code({ edits, ...own })})`,
        ],
      }
    }
    case 'scan': {
      const { model: _, ...options } = asked.request
      return {
        imports: ['scanHeads'],
        lines: [`const result = await scanHeads(model, ${code(options)})`],
      }
    }
    case 'ablate': {
      const { model: _m, prompt, reference, resume: _r, ...options } = asked.request
      const stack = oneStack({ prompt })
      const others = reference ? `, reference: [${reference.map(stack.encoded).join(', ')}]` : ''
      return {
        imports: ['ablate', ...stack.imports],
        lines: [
          ...stack.lines,
          `const result = await ablate(${stack.model}, prompt, { ${fields(options)}${others} })`,
        ],
      }
    }
    default: {
      const { model: _m, clean, corrupt, resume: _r, ...options } = asked.request
      const name = asked.kind === 'path' ? 'pathPatch' : asked.kind
      const stack = oneStack({ clean, corrupt })
      const other = differentSource(clean, corrupt)
        ? [`const corruptModel = await model.reading(${encoded(corrupt)})`]
        : []
      const given = [fields(options), ...(other.length > 0 ? ['corruptModel'] : [])].join(', ')
      return {
        imports: [name, ...stack.imports],
        lines: [
          ...stack.lines,
          ...other,
          `const result = await ${name}(${stack.model}, clean, corrupt, { ${given} })`,
        ],
      }
    }
  }
}

/** Whether the decoder reads another text of the encoder for the corrupt prompt. */
function differentSource(clean: PromptInput, corrupt: PromptInput): boolean {
  const text = ({ decoder: _, ...source }: PromptInput) => JSON.stringify(source)
  return (clean.decoder ?? corrupt.decoder) !== undefined && text(clean) !== text(corrupt)
}

/** The lines that make a sweep's prompts: where a decoder reads an encoder, that decoder over the first one's text of the encoder. */
function oneStack(prompts: Readonly<Record<string, PromptInput>>) {
  const all = Object.values(prompts)
  const reads = all.some(({ decoder }) => decoder)
  const own = ({ decoder }: PromptInput) => decoderCode(decoder)
  const ids = reads ? own : encoded
  const lines = Object.entries(prompts).map(([name, prompt]) => `const ${name} = ${ids(prompt)}`)
  return {
    model: reads ? 'reading' : 'model',
    encoded: ids,
    imports: reads && [...all].some(({ decoder }) => !decoder?.ids) ? ['decoderPrompt'] : [],
    lines: reads ? [`const reading = await model.reading(${encoded(all[0]!)})`, ...lines] : lines,
  }
}
