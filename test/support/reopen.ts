/** Opens, runs and closes a checkpoint many times, as a process of its own. Prints resident bytes after each round as JSON. */
import { openModel } from '../../core/index.ts'

const [folder, rounds] = process.argv.slice(2)
const bytes: number[] = []
for (let i = 0; i < Number(rounds); i++) {
  const model = await openModel(folder!)
  await model.run([5, 9, 9, 2, 5, 9], { capture: ['*.hook_pattern', 'logits'] })
  await model.close()
  bytes.push(process.memoryUsage.rss())
}
process.stdout.write(JSON.stringify(bytes))
