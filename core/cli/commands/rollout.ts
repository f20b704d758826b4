/** `headscope rollout MODEL PROMPTS`: attention multiplied through all layers. One forward. */
import { summaryCommand } from '../summary-command.ts'

export const rollout = summaryCommand({
  name: 'rollout',
  summary: 'Attention rollout: how much of each input position is in an output position, by attention alone',
  detail:
    'Shows the row of --pos; --json has every row. What it leaves out (values, signs, MLPs, norms) is said with every answer.',
  examples: [
    'headscope rollout induction-2l --text "The queen Zorblat spoke. The queen Zor"',
    'headscope rollout prose-4l --prompts book.txt --without-first --json',
  ],
})
