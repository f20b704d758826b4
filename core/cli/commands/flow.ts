/** `headscope flow MODEL PROMPTS`: attention flow, a maximum flow per position. One forward. */
import { summaryCommand } from '../summary-command.ts'

export const flow = summaryCommand({
  name: 'flow',
  summary: 'Attention flow: the maximum flow from an output position to each input position',
  detail:
    'A prompt has at most 128 tokens. What it leaves out (values, signs, MLPs, norms) is said with every answer.',
  examples: [
    'headscope flow induction-2l --text "The queen Zorblat spoke. The queen Zor" --pos -1',
    'headscope flow prose-4l --text "The king and the queen" --without-first --json',
  ],
})
