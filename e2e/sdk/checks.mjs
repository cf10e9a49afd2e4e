// The TypeScript SDK as a host.
//
//   node checks.mjs v1|v2 legacy|auto|pin stdio|http|sse
//
// Each check prints one line. From the environment: E2E_COMMAND, the binary and
// its arguments for stdio as a JSON list; E2E_URL; E2E_MARK, the file that the
// sleeper's tool writes its process id to; E2E_RECORD, a folder for the messages.
import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from './connect.mjs'

const [sdk, mode, transport] = process.argv.slice(2)
const { E2E_COMMAND, E2E_URL, E2E_MARK, E2E_RECORD, PATH } = process.env
const modern = mode !== 'legacy'
const label = `SDK ${sdk}, ${mode}, ${transport}`
const [command, ...args] = JSON.parse(E2E_COMMAND)
const target = transport === 'stdio' ? { command, args, env: { PATH, E2E_MARK } } : E2E_URL
const record = E2E_RECORD && `${E2E_RECORD}/${sdk}-${mode}-${transport}.jsonl`

let failed = 0
/** Runs body with a connection of its own, and prints what came of it. */
async function check(name, body, answer) {
  let c
  const late = new AbortController()
  try {
    const run = async () => {
      c = await connect({ sdk, mode, transport, target, answer, record })
      await body(c)
      await c.close()
    }
    const deadline = delay(60_000, undefined, { signal: late.signal }).then(() => { throw new Error('no end within 60 s') }, () => {})
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

const file = (name) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url)).toString('base64')
const texts = (result) => result.content.filter((b) => b.type === 'text').map((b) => b.text).join('\n')

await check('list', async ({ client, version }) => {
  assert.equal(version, modern ? '2026-07-28' : '2025-11-25')
  const { tools, nextCursor } = await client.listTools()
  const names = tools.map((t) => t.name)
  for (const name of ['facts', 'keeper', 'media', 'reverser']) assert.ok(names.includes(name), `${name} is not among ${names}`)
  assert.equal(nextCursor, undefined)
  const reverser = tools.find((t) => t.name === 'reverser')
  assert.equal(reverser.title, 'Reverser')
  assert.equal(reverser.annotations.readOnlyHint, true)
  assert.match(client.getInstructions(), /Ask the reverser for words/)
})

await check('call with progress', async ({ call, heard }) => {
  const told = []
  const result = await call('reverser', { request: 'Reverse stressed' }, { onprogress: (p) => told.push(p) })
  assert.ok(!result.isError, texts(result))
  assert.match(texts(result), /Backwards it reads desserts\./)
  // On the wire, since the SDK drops what comes in one go with the result.
  const messages = heard()
  assert.ok(messages.at(-1).result, 'something comes after the result')
  const sent = messages.filter((m) => m.method === 'notifications/progress').map((m) => m.params)
  assert.ok(sent.length >= 3, `only ${sent.length} notifications of progress`)
  sent.reduce((a, b) => (assert.ok(b.progress > a.progress, 'progress does not increase'), b))
  assert.ok(sent.every((p) => p.message), 'progress without a message')
  assert.ok(told.length >= sent.length - 1, `the SDK told of ${told.length} of ${sent.length}`)
})

await check('five calls at once', async ({ call }) => {
  const words = ['drawer', 'live', 'pools', 'straw', 'tips']
  const results = await Promise.all(words.map((w) => call('reverser', { request: `Reverse ${w}`, conversation: 'new' })))
  results.forEach((r, i) => assert.match(texts(r), new RegExp(`reads ${[...words[i]].reverse().join('')}\\.`)))
})

await check('a failed call', async ({ call, client }) => {
  const result = await call('facts', { request: 'nothing that fits' })
  assert.equal(result.isError, true)
  assert.ok(texts(result).length > 0)
  await assert.rejects(async () => {
    const r = await call('no_such_tool', {})
    if (r.isError) throw new Error('isError')
  })
  await client.listTools()
})

await check('cancel', async ({ call, client }) => {
  rmSync(E2E_MARK, { force: true })
  const control = new AbortController()
  const pid = () => {
    try { return Number(readFileSync(E2E_MARK, 'utf8')) } catch { return 0 }
  }
  const alive = (p) => {
    try { return process.kill(p, 0) } catch { return false }
  }
  const waiting = call('sleeper', { request: 'sleep' }, { signal: control.signal, onprogress: () => {} })
  waiting.catch(() => {})
  const until = async (what, done) => {
    for (let i = 0; i < 300 && !done(); i++) await delay(50)
    assert.ok(done(), what)
  }
  await until('the tool does not start', () => pid() > 0)
  control.abort('enough')
  await assert.rejects(waiting)
  await until('the tool outlives its call', () => !alive(pid()))
  await client.listTools()
})

await check('an answer of text, image, audio and PDF', async ({ call }) => {
  const result = await call('media', { request: 'Show me.' })
  assert.ok(!result.isError, texts(result))
  const of = (type) => result.content.filter((b) => b.type === type)
  assert.match(texts(result), /One of each\./)
  assert.deepEqual(of('image').map(({ data, mimeType }) => ({ data, mimeType })), [{ data: file('square.png'), mimeType: 'image/png' }])
  assert.deepEqual(of('audio').map(({ data, mimeType }) => ({ data, mimeType })), [{ data: file('beep.wav'), mimeType: 'audio/wav' }])
  assert.deepEqual(of('resource').map(({ resource: { blob, mimeType } }) => ({ blob, mimeType })), [{ blob: file('page.pdf'), mimeType: 'application/pdf' }])
})

await check('structured output, checked against the schema by the SDK', async ({ call, client }) => {
  const { tools } = await client.listTools()
  assert.equal(tools.find((t) => t.name === 'facts').outputSchema.type, 'object')
  const result = await call('facts', { request: 'Tell me about Bern.' })
  assert.ok(!result.isError, texts(result))
  const want = { city: 'Bern', rivers: ['Aare'], population: 134794 }
  assert.deepEqual(result.structuredContent, want)
  assert.deepEqual(JSON.parse(result.content[0].text), want)
})

const approved = { action: 'accept', content: { approve: true } }
await check('approval accepted', async ({ call, asked }) => {
  const result = await call('keeper', { request: 'Throw away monday' })
  assert.equal(asked.length, 1)
  assert.match(asked[0].message, /throw_away/)
  assert.match(asked[0].message, /monday/)
  assert.match(texts(result), /The tool said: the note monday is gone/)
}, approved)

for (const action of ['decline', 'cancel']) {
  await check(`approval met with ${action}`, async ({ call, asked }) => {
    const result = await call('keeper', { request: 'Throw away monday' })
    assert.equal(asked.length, 1)
    assert.doesNotMatch(texts(result), /is gone/)
    assert.ok(texts(result).length > 0)
  }, { action })
}

await check('approval of a client that cannot be asked', async ({ call }) => {
  const result = await call('keeper', { request: 'Throw away monday' })
  assert.match(texts(result), /The tool said: .*nobody/)
})

await check('a form', async ({ call, asked }) => {
  const result = await call('receptionist', { request: 'Good evening.' })
  assert.match(asked[0].message, /Welcome to the Seaview/)
  assert.deepEqual(Object.keys(asked[0].requestedSchema.properties), ['name', 'room', 'view'])
  assert.match(texts(result), /The guest said: .*Ann.*217/s)
}, { action: 'accept', content: { name: 'Ann', room: 217, view: 'yard' } })

await check('prompts', async ({ client }) => {
  const { prompts } = await client.listPrompts()
  assert.deepEqual(prompts.find((p) => p.name === 'compare').arguments.map((a) => [a.name, a.required ?? false]), [['first', true], ['second', false]])
  const { messages } = await client.getPrompt({ name: 'compare', arguments: { first: 'Emma', second: 'Middlemarch' } })
  assert.deepEqual(messages, [{ role: 'user', content: { type: 'text', text: 'Compare Emma with Middlemarch.' } }])
  const cover = (await client.getPrompt({ name: 'describe_cover' })).messages
  assert.deepEqual(cover.map((m) => [m.role, m.content.type]), [['user', 'image'], ['user', 'text'], ['assistant', 'resource']])
  assert.equal(cover[0].content.data, file('square.png'))
  assert.match(cover[2].content.resource.text, /Middlemarch/)
  await assert.rejects(client.getPrompt({ name: 'compare', arguments: {} }), (err) => err.code === -32602)
  await assert.rejects(client.getPrompt({ name: 'no_such_prompt' }), (err) => err.code === -32602)
})

await check('completion', async ({ client }) => {
  const values = async (ref, name, value) => (await client.complete({ ref, argument: { name, value } })).completion.values
  assert.deepEqual(await values({ type: 'ref/prompt', name: 'compare' }, 'first', 'eth'), ['Ethan Frome'])
  assert.deepEqual(await values({ type: 'ref/resource', uri: 'library://books/{book}' }, 'book', 'mid'), ['middlemarch'])
})

await check('resources', async ({ client, heard }) => {
  const { resources } = await client.listResources()
  assert.deepEqual(resources.filter((r) => r.uri.startsWith('library:')).map((r) => [r.uri, r.mimeType]), [
    ['library://catalog', 'text/markdown'], ['library://cover', 'image/png']])
  const { resourceTemplates } = await client.listResourceTemplates()
  assert.ok(resourceTemplates.some((t) => t.uriTemplate === 'library://books/{book}'))
  const read = async (uri) => (await client.readResource({ uri })).contents[0]
  assert.match((await read('library://catalog')).text, /- Emma\n/)
  assert.equal((await read('library://cover')).blob, file('square.png'))
  assert.deepEqual(await read('library://books/emma'), { uri: 'library://books/emma', mimeType: 'text/plain', text: 'This is emma.' })
  await assert.rejects(client.readResource({ uri: 'library://nothing' }))
  assert.equal(heard().at(-1).error.code, modern ? -32602 : -32002)
})

await check('an artifact behind a link', async ({ call, client }) => {
  const result = await call('archivist', { request: 'Write it.' })
  assert.ok(!result.isError, texts(result))
  const link = result.content.find((b) => b.type === 'resource_link')
  assert.ok(link, `no link in ${JSON.stringify(result.content)}`)
  assert.equal(link.name, 'report.txt')
  const { contents } = await client.readResource({ uri: link.uri })
  assert.equal(contents[0].text, 'All is well.')
  assert.match(contents[0].mimeType, /^text\/plain/)
})

process.exit(failed ? 1 : 0)
