// Has the host's own pruner cut the lists in one file, writes what it answers into another, and ends the host.
// A line of the answer is what the host's JSON.stringify makes of {config, before, after}; after is null where there is
// nothing to do.
import { readFileSync, writeFileSync } from 'node:fs'

export const name = 'toolprune-test-prune'
export const inject = ['toolResultPruner']

function answers(ctx, cases) {
  const Pruner = ctx.toolResultPruner.constructor
  const pruners = new Map()
  // The name of the service is taken, so each further pruner gets a context in which it is not.
  const pruner = (config) => {
    const key = JSON.stringify(config)
    if (!pruners.has(key)) pruners.set(key, new Pruner(ctx.isolate('toolResultPruner'), config))
    return pruners.get(key)
  }
  return cases.map(({ config, before }) =>
    JSON.stringify({ config, before, after: pruner(config).pruneContent(before) }) + '\n')
}

export function apply(ctx, { cases, answer }) {
  try {
    const lines = readFileSync(cases, 'utf8').trimEnd().split('\n')
    writeFileSync(answer, answers(ctx, lines.map((line) => JSON.parse(line))).join(''))
    process.exit(0)
  } catch (error) {
    console.error(error)
    process.exit(1)
  }
}
