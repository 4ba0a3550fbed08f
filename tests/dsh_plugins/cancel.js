// Cancels the turn while another plugin holds one step up: once the file `asked` is there, which is answered with the
// file `cancelled`.
import { existsSync, writeFileSync } from 'node:fs'

export const name = 'toolprune-test-cancel'

export function apply(ctx, { step: at, asked, cancelled }) {
  ctx.on('agent/pre-step', ({ agent, step }, next) => {
    const waiting = step === at && setInterval(() => {
      if (!existsSync(asked)) return
      clearInterval(waiting)
      agent.cancel({ kind: 'user' })
      // What the cancelling brings about by itself comes before what is done when the file is there.
      setTimeout(() => writeFileSync(cancelled, ''))
    })
    return next()
  }, { prepend: true })
}
