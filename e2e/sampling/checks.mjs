// The TypeScript SDK as a host with a model of its own, which plays a script.
//
//   node checks.mjs v1|v2 legacy|auto|pin stdio|http
//
// Each check prints one line. From the environment: E2E_COMMAND, the binary and its
// arguments for stdio as a JSON list; E2E_URL; E2E_RECORD, a folder for the messages.
import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '../sdk/connect.mjs'

const [sdk, mode, transport] = process.argv.slice(2)
const { E2E_COMMAND, E2E_URL, E2E_RECORD, PATH } = process.env
const label = `sampling, SDK ${sdk}, ${mode}, ${transport}`
const [command, ...args] = JSON.parse(E2E_COMMAND)
const target = transport === 'stdio' ? { command, args, env: { PATH } } : E2E_URL
const record = E2E_RECORD && `${E2E_RECORD}/${sdk}-${mode}-${transport}.jsonl`

let failed = 0
/** Runs body with a connection of its own, and prints what came of it. */
async function check(name, sampling, body) {
  let c
  const late = new AbortController()
  try {
    const run = async () => {
      c = await connect({ sdk, mode, transport, target, sampling, record })
      await body(c)
      await c.close()
    }
    const deadline = delay(30_000, undefined, { signal: late.signal }).then(() => { throw new Error('no end within 30 s') }, () => {})
    await Promise.race([run(), deadline])
    console.log(`ok   ${label}: ${name}`)
  } catch (err) {
    failed++
    console.log(`FAIL ${label}: ${name}: ${err.stack ?? err}`)
    await Promise.race([c?.close().catch(() => {}), delay(3_000)])
  } finally {
    late.abort()
  }
}

const texts = (result) => result.content.filter((b) => b.type === 'text').map((b) => b.text).join('\n')
const blocks = (message) => [message.content].flat()
const says = (text) => ({ role: 'assistant', model: 'scripted', stopReason: 'endTurn', content: { type: 'text', text } })

/** A model that calls the tool for the word it is asked about, and says what came. */
function reverses({ messages }) {
  const last = blocks(messages.at(-1))
  if (last[0].type === 'tool_result') return says(`The tool gave ${last[0].content[0].text}.`)
  const word = /Reverse (\w+)/.exec(last[0].text)[1]
  return {
    role: 'assistant', model: 'scripted', stopReason: 'toolUse',
    content: [
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: `call-${word}`, name: 'reverse', input: { word } },
    ],
  }
}

const tools = { capability: { tools: {} }, answer: reverses }

await check('a tool call, then an answer', tools, async ({ call, sampled }) => {
  const result = await call('borrower', { request: 'Reverse stressed' })
  assert.ok(!result.isError, texts(result))
  assert.match(texts(result), /The tool gave desserts\./)
  assert.equal(sampled.length, 2)
  const [first, second] = sampled
  assert.match(first.systemPrompt, /Reverse words with the tool/)
  assert.deepEqual(first.tools.map((t) => [t.name, t.inputSchema.type]), [['reverse', 'object']])
  assert.equal(first.maxTokens, 4096)
  assert.deepEqual(second.messages.map((m) => [m.role, blocks(m).map((b) => b.type)]), [
    ['user', ['text']], ['assistant', ['text', 'tool_use']], ['user', ['tool_result']]])
  assert.equal(blocks(second.messages[1])[1].id, blocks(second.messages[2])[0].toolUseId)
})

await check('five calls at once', tools, async ({ call }) => {
  const words = ['drawer', 'live', 'pools', 'straw', 'tips']
  const results = await Promise.all(words.map((w) => call('borrower', { request: `Reverse ${w}`, conversation: 'new' })))
  results.forEach((r, i) => assert.match(texts(r), new RegExp(`gave ${[...words[i]].reverse().join('')}\\.`)))
})

await check('an agent without tools', { capability: {}, answer: () => says('Good day.') }, async ({ call, sampled }) => {
  const result = await call('talker', { request: 'Greet me.' })
  assert.ok(!result.isError, texts(result))
  assert.match(texts(result), /Good day\./)
  const [{ messages, maxTokens, temperature, stopSequences, modelPreferences }] = sampled
  assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Greet me.' } }])
  assert.deepEqual({ maxTokens, temperature, stopSequences, modelPreferences },
    { maxTokens: 200, temperature: 0.5, stopSequences: ['END'], modelPreferences: { hints: [{ name: 'some-model' }] } })
})

await check('a host whose model cannot call tools', { capability: {}, answer: reverses }, async ({ call, sampled }) => {
  const result = await call('borrower', { request: 'Reverse stressed' })
  assert.equal(result.isError, true)
  assert.match(texts(result), /the host's model cannot call tools \(sampling\.tools\)/)
  assert.equal(sampled.length, 0)
})

await check('a host without sampling', undefined, async ({ call }) => {
  const result = await call('borrower', { request: 'Reverse stressed' })
  assert.equal(result.isError, true)
  assert.match(texts(result), /model: host needs a calling host that offers sampling/)
})

if (mode === 'legacy') { // else it has no form: the client then does not call again
  const refuses = () => { throw Object.assign(new Error('User rejected sampling request'), { code: -1 }) }
  await check('a host that refuses', { capability: { tools: {} }, answer: refuses }, async ({ call }) => {
    const result = await call('borrower', { request: 'Reverse stressed' })
    assert.equal(result.isError, true)
    assert.match(texts(result), /did not let its model answer: .*User rejected/)
  })
}

process.exit(failed ? 1 : 0)
