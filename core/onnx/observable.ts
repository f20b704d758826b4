/** Why a pattern cannot be seen, as a sentence. */
import type { Recognised } from './recognise.ts'

/** What to say of a graph whose attention is one operation, in which no pattern exists. */
export function notObservable(file: string, { fused, layers }: Pick<Recognised, 'fused' | 'layers'>): string {
  const kinds = [...new Set(fused.map(({ op }) => op))].join(', ')
  return `${file}: pattern not observable, since ${fused.length} of ${layers} attention layers are one operation (${kinds}) that never writes its pattern; open the checkpoint's folder (config.json and safetensors), or export it with eager attention.`
}
