/** Headscope's scripting API: everything that the app and the command line do is a call here. */

export * from './checkpoint/index.ts'
export { type ErrorCode, HeadscopeError, isCancelled, sentence } from './errors.ts'
export { familyNames } from './families/index.ts'
export { blockHook, headName, parseHook } from './graph/hook-names.ts'
export type { ModelSpec } from './graph/model-spec.ts'
export type { Tensor } from './graph/tensor.ts'
export type { Generated, GenerateOptions } from './run/generate.ts'
export { type Model, type OpenOptions, openModel } from './run/model.ts'
export type { ParameterCount } from './run/parameters.ts'
export { type BaseRun, baseRun, type RestartRequest, restart } from './run/restart.ts'
export type { HookInfo } from './run/segments.ts'
export type * from './run/types.ts'
