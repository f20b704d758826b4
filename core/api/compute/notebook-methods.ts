/** What the compute worker writes about notes and figures. In: the messages of contract-notebook.ts. Out: plain data. */
import { HeadscopeError } from '../../errors.ts'
import type { Store } from '../../store/capture-store.ts'
import type { FigureInput } from '../../store/figures.ts'
import type { NoteReply, NoteRequest } from '../contract.ts'
import type { Engine, EngineModel } from './engine.ts'
import type { ModelCache } from './model-cache.ts'

export interface NotebookMethodDeps<M extends EngineModel> {
  readonly engine: Pick<Engine<M>, 'summary'>
  readonly models: ModelCache<M>
  readonly store: Pick<Store, 'saveHeadNote' | 'pinFigure' | 'noteFigure' | 'orderFigures' | 'deleteFigure'>
}

/** Makes the table. */
export function createNotebookMethods<M extends EngineModel>({
  engine,
  models,
  store,
}: NotebookMethodDeps<M>) {
  return {
    /** Writes the note on a head of a checkpoint, named by the hash of its weights. */
    saveNote: ({ model, layer, head, text }: NoteRequest): Promise<NoteReply> =>
      models.use(model, async (opened) => {
        const spec = engine.summary(opened)
        if (layer >= spec.n_layers || head >= spec.n_heads)
          throw new HeadscopeError(
            'bad-request',
            `${opened.name} has no head L${layer}H${head}: it has ${spec.n_layers} layers of ${spec.n_heads} heads.`,
          )
        const { hash: contentHash } = await opened.contentHash()
        const checkpoint = { contentHash, path: opened.path, name: opened.name, family: spec.family, spec }
        return { note: store.saveHeadNote(checkpoint, { layer, head, text }) }
      }),

    pinFigure: (figure: FigureInput): { id: number } => ({ id: store.pinFigure(figure) }),
    noteFigure: ({ id, text }: { id: number; text: string }): void => store.noteFigure(id, text),
    orderFigures: ({ ids }: { ids: readonly number[] }): void => store.orderFigures(ids),
    deleteFigure: ({ id }: { id: number }): void => store.deleteFigure(id),
  }
}
