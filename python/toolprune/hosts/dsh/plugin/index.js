// toolprune in the DeepSeek Harness: asks the Python side before each step which tool results to shorten, and puts what
// it answers in their place as the host's own pruner does. It decides nothing itself, and it never breaks a turn: where
// there is no right answer in time, nothing is edited.
import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const name = 'toolprune'
export const inject = ['tokenMeter']

const PROTOCOL = 1
const ANSWER_WITHIN = 2000 // milliseconds
const START_WITHIN = 10000
const HERE = dirname(fileURLToPath(import.meta.url))
const RESTART_AFTER = [0, 1000, 5000, 30000, 300000]

// Of an event, what the Python side reads.
const READ = {
  'tool/call': ({ callId, name }) => ({ callId, name }),
  'tool/result': ({ message }) => ({ message }),
}

const isSeq = (value) => Number.isSafeInteger(value) && value >= 0

const isWelcome = (answer) => typeof answer.version === 'string' && Array.isArray(answer.events)

const isDecision = (answer) =>
  (answer.opening === null || isSeq(answer.opening)) &&
  Array.isArray(answer.warnings) && answer.warnings.every((each) => typeof each === 'string') &&
  Array.isArray(answer.edits) &&
  answer.edits.every((edit) => isSeq(edit?.seq) && Array.isArray(edit.content) && edit.content.every((block) => typeof block?.type === 'string'))

// The host's two generations differ in how a session gives its events and in how a replacement is written. Which one it
// is is told by what a session can do, never by trying: a wrong replacement is accepted and spoils the session.
function host(session) {
  if (typeof session.eventAt === 'function' && typeof session.snapshotEvents === 'function') {
    return {
      eventAt: (seq) => session.eventAt(seq),
      events: () => session.snapshotEvents(),
      replacing: (seq) => ({ op: 'replace', startSeq: seq, endSeq: seq }),
    }
  }
  if (Array.isArray(session.events)) {
    return {
      eventAt: (seq) => session.events[seq],
      events: () => session.events,
      replacing: (seq) => ({ op: 'replace', start: seq, end: seq }),
    }
  }
  throw new Error('this generation of the host is not known: look for a newer toolprune')
}

// A tool result with other blocks, everything else as it was. The older generation wraps the blocks.
function withBlocks(message, blocks) {
  const [first] = message.content
  return { ...message, content: first?.type === 'tool-result' ? [{ ...first, content: blocks }] : blocks }
}

// What a promise brings, or a rejection with this sentence when it takes longer.
function within(promise, milliseconds, sentence) {
  let late
  const over = new Promise((_, reject) => { late = setTimeout(() => reject(new Error(sentence)), milliseconds) })
  return Promise.race([promise, over]).finally(() => clearTimeout(late))
}

class Python {
  #config
  #child
  #waiting = new Map()
  #next = 0
  #failures = 1 // only one that has answered is started again at once
  #notBefore = 0
  #starting
  #types
  #waited = false
  #failure

  constructor(config) {
    this.#config = config
  }

  // The types of events to forward, once the Python side is there; the last failure while it is not to be started again.
  async started() {
    if (this.#starting === undefined && Date.now() < this.#notBefore) throw this.#failure
    this.#starting ??= this.#start()
    if (this.#types !== undefined) return this.#types
    // One step waits for a start, no further one.
    const milliseconds = this.#waited ? 0 : ANSWER_WITHIN
    this.#waited = true
    return within(this.#starting, milliseconds, 'the Python side has not started yet')
  }

  async #start() {
    const { python, ...row } = this.#config
    if (typeof python !== 'string' || python === '') throw new Error("its row names no python: run 'toolprune dsh install' again")
    // Not in the folder that the host works in: Python would run modules that lie there.
    const child = spawn(python, ['-m', 'toolprune.hosts.dsh.sidecar'], { cwd: HERE, stdio: ['pipe', 'pipe', 'ignore'] })
    this.#child = child
    for (const each of [child, child.stdin, child.stdout]) each.unref() // the host may end while it is there
    child.on('error', (error) => this.#failed(child, error.message))
    child.on('exit', (code, signal) => this.#failed(child, `it ended with ${signal ?? code}`))
    child.stdin.on('error', () => {}) // its exit says it
    createInterface({ input: child.stdout }).on('line', (line) => this.#heard(child, line))
    const answer = await this.#ask({ op: 'hello', protocol: PROTOCOL, config: row }, START_WITHIN)
    if (!isWelcome(answer)) return this.#refuse('it greets in a way that is not understood')
    this.#types = new Set(answer.events)
    return this.#types
  }

  async step(request) {
    const answer = await this.#ask({ op: 'step', ...request }, ANSWER_WITHIN)
    if (!isDecision(answer)) return this.#refuse('it answers in a way that is not understood')
    this.#failures = 0
    return answer
  }

  stop() {
    this.#child?.kill('SIGKILL')
  }

  async #ask(request, milliseconds) {
    const child = this.#child
    if (child === undefined) throw new Error('the Python side is gone')
    const id = ++this.#next
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => this.#failed(child, `it did not answer within ${milliseconds} ms`), milliseconds)
      const settle = (settled) => (value) => { clearTimeout(late); this.#waiting.delete(id); settled(value) }
      this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) })
      child.stdin.write(`${JSON.stringify({ id, ...request })}\n`)
    })
  }

  #heard(child, line) {
    if (child !== this.#child) return
    let answer
    try {
      answer = JSON.parse(line)
    } catch {
      return this.#failed(child, 'it wrote a line that is no JSON')
    }
    const asked = this.#waiting.get(answer?.id)
    if (asked === undefined) this.#failed(child, 'it answers what it was not asked')
    else if (typeof answer.error === 'string') asked.reject(new Error(answer.error))
    else asked.resolve(answer)
  }

  #refuse(reason) {
    this.#failed(this.#child, reason)
    throw this.#failure
  }

  // Everything that waits is answered with the failure, and the next step starts another process, later each time.
  #failed(child, reason) {
    if (child !== this.#child) return
    this.#child = undefined
    this.#starting = this.#types = undefined
    this.#waited = false
    this.#notBefore = Date.now() + RESTART_AFTER[Math.min(this.#failures++, RESTART_AFTER.length - 1)]
    this.#failure = new Error(`the Python side failed: ${reason}`)
    for (const { reject } of [...this.#waiting.values()]) reject(this.#failure)
    child?.kill('SIGKILL')
  }
}

export function apply(ctx, config = {}) {
  const python = new Python(config)
  const sessions = new WeakMap() // of each: the process that knows it, how many events that was told, the opening
  const warned = new Set()
  let failing = false
  python.started().catch(() => {}) // while the host starts; the first step says what went wrong

  function warn(sentence) {
    if (warned.has(sentence)) return
    warned.add(sentence)
    console.warn(`toolprune: ${sentence}`)
  }

  function replace(session, at, { seq, content }, tried) {
    const event = at.eventAt(seq)
    if (event?.type !== 'tool/result' || tried.has(seq) || !session.surface.nodes.includes(seq)) return
    tried.add(seq) // once: where an append fails, a second one would fail too
    const { message } = event.data
    const shadowedTokenCount = ctx.tokenMeter.estimateMessage(message)
    // Nothing may come between the two.
    session.append('compaction/prune', { shadowedRange: { start: seq, end: seq }, shadowedSeqs: [seq], shadowedTokenCount })
    session.append('tool/result', { ...event.data, message: withBlocks(message, content) }, { surfaceOp: at.replacing(seq), sourceEventSeqs: [seq] })
  }

  async function prune(session, signal) {
    const types = await python.started()
    const at = host(session)
    const known = sessions.get(session) ?? { types: undefined, told: 0, opening: null, tried: new Set() }
    const first = known.types !== types // another process, or none yet
    const events = at.events()
    const told = events.length // it may grow while Python decides
    const fresh = events.slice(first ? 0 : known.told)
    // Without an answer it is not known what the process took in: it is told everything again.
    sessions.set(session, { ...known, types: undefined })
    const decision = await python.step({
      session: String(session.id),
      first,
      opening: known.opening,
      events: fresh.filter((event) => types.has(event.type)).map(({ seq, type, data, surfaceOp }) =>
        ({ seq, type, data: READ[type]?.(data) ?? {}, replaces: typeof surfaceOp === 'object' && surfaceOp !== null })),
      surface: [...session.surface.nodes],
      total: Math.max(0, Math.round(ctx.tokenMeter.measure(session).totalTokens)),
    })
    sessions.set(session, { ...known, types, told, opening: decision.opening })
    failing = false
    for (const sentence of decision.warnings) warn(sentence)
    if (signal?.aborted) return
    for (const edit of decision.edits) replace(session, at, edit, known.tried)
  }

  ctx.on('agent/pre-step', async ({ agent, signal }, next) => {
    try {
      if (!signal?.aborted) await prune(agent.session, signal)
    } catch (error) {
      // One sentence, however often it is tried again in vain.
      if (!failing) warn(`${error.message}; nothing is cut meanwhile, and 'toolprune dsh doctor' says what to mend`)
      failing = true
    }
    return next()
  })
  ctx.effect(() => () => python.stop())
}
