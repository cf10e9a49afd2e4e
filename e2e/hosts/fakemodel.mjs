// A model on loopback for the hosts under test: it speaks the APIs of Anthropic,
// Gemini and OpenAI (responses and chat completions) and does as it is told.
//
//   node fakemodel.mjs          prints its URL on the first line, then what it is asked
//
// A prompt with `CALL name {json}` makes it call the tool whose name ends with
// name. What the tool gave is then its answer, word for word, behind `GOT: `.
// It invents nothing, so the answer of our agent can reach the host's output only
// through the host's own MCP client.
import { createServer } from 'node:http'

const text = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? JSON.stringify(part)).join('')

/** Decides what to say: {say} or {call: {name, args, ...}}. turns is a list of {user} and {result}. */
function decide(turns, tools) {
  const newest = turns.at(-1)
  if (newest?.result !== undefined) return { say: `GOT: ${newest.result}` }
  const order = /CALL (\S+) (\{.*?\})\s*$/ms.exec(newest?.user ?? '')
  if (!order) return { say: 'Nothing to do.' }
  const tool = tools.find((t) => t.name.endsWith(order[1]))
  if (!tool) return { say: `NO TOOL ${order[1]} AMONG ${tools.map((t) => t.name).join(' ')}` }
  return { call: { ...tool, args: JSON.parse(order[2]) } }
}

const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }

/** The APIs: read takes a request's body to turns and tools, write gives the events of the answer. */
const apis = {
  anthropic: {
    path: /\/v1\/messages(\?|$)/,
    read: (body) => ({
      turns: body.messages.flatMap((m) => {
        if (m.role !== 'user') return []
        const results = Array.isArray(m.content) ? m.content.filter((p) => p.type === 'tool_result') : []
        if (results.length) return [{ result: results.map((p) => text(p.content)).join('\n') }]
        return [{ user: text(m.content) }]
      }),
      tools: (body.tools ?? []).map((t) => ({ name: t.name })),
    }),
    write: ({ say, call }, body) => {
      const block = call ? { type: 'tool_use', id: 'toolu_1', name: call.name, input: {} } : { type: 'text', text: '' }
      const delta = call
        ? { type: 'input_json_delta', partial_json: JSON.stringify(call.args) }
        : { type: 'text_delta', text: say }
      const stop = { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null }
      const message = { id: 'msg_1', type: 'message', role: 'assistant', model: body.model, content: [], ...stop, usage }
      if (!body.stream) {
        return { ...message, content: [call ? { ...block, input: call.args } : { ...block, text: say }] }
      }
      return [
        { type: 'message_start', message: { ...message, stop_reason: null } },
        { type: 'content_block_start', index: 0, content_block: block },
        { type: 'content_block_delta', index: 0, delta },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: stop, usage },
        { type: 'message_stop' },
      ]
    },
  },
  gemini: {
    path: /:(stream)?[gG]enerateContent/,
    read: (body) => ({
      turns: body.contents.flatMap((c) => {
        if (c.role === 'model') return []
        const results = c.parts.filter((p) => p.functionResponse)
        if (!results.length) return [{ user: text(c.parts) }]
        // Images stand inside the response or beside it.
        const said = results.map(({ functionResponse: { response, parts } }) => (response.output ?? JSON.stringify(response)) + text(parts))
        return [{ result: said.join('\n') + text(c.parts.filter((p) => !p.functionResponse)) }]
      }),
      tools: (body.tools ?? []).flatMap((t) => t.functionDeclarations ?? []).map((t) => ({ name: t.name })),
    }),
    write: ({ say, call }, body, url) => {
      const part = call ? { functionCall: { name: call.name, args: call.args } } : { text: say }
      const reply = {
        candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
        modelVersion: 'fake-model',
      }
      return url.includes(':stream') ? [reply] : reply
    },
  },
  responses: {
    path: /\/responses$/,
    read: (body) => ({
      turns: body.input.flatMap((item) => {
        if (item.type === 'function_call_output') return [{ result: text(item.output) }]
        if (item.type === 'message' && item.role === 'user') return [{ user: text(item.content) }]
        return []
      }),
      // Codex puts the tools of an MCP server into a namespace.
      tools: (body.tools ?? []).flatMap((t) =>
        t.type === 'namespace' ? t.tools.map((u) => ({ name: u.name, namespace: t.name })) : [{ name: t.name ?? t.type }],
      ),
    }),
    write: ({ say, call }, body) => {
      const item = call
        ? { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: call.name, namespace: call.namespace, arguments: JSON.stringify(call.args), status: 'completed' }
        : { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: say, annotations: [] }] }
      const response = { id: 'resp_1', object: 'response', model: body.model, status: 'in_progress', output: [] }
      const done = { ...response, status: 'completed', output: [item], usage }
      if (!body.stream) return done
      return [
        { type: 'response.created', response },
        { type: 'response.output_item.added', output_index: 0, item: { ...item, status: 'in_progress' } },
        { type: 'response.output_item.done', output_index: 0, item },
        { type: 'response.completed', response: done },
      ]
    },
  },
  chat: {
    path: /\/chat\/completions$/,
    read: (body) => ({
      turns: body.messages.flatMap((m) => {
        if (m.role === 'tool') return [{ result: text(m.content) }]
        return m.role === 'user' ? [{ user: text(m.content) }] : []
      }),
      tools: (body.tools ?? []).map((t) => ({ name: t.function.name })),
    }),
    write: ({ say, call }, body) => {
      const message = call
        ? { role: 'assistant', content: null, tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: call.name, arguments: JSON.stringify(call.args) } }] }
        : { role: 'assistant', content: say }
      const head = { id: 'chat_1', created: 0, model: body.model }
      const reason = call ? 'tool_calls' : 'stop'
      const counts = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
      if (!body.stream) {
        return { ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: reason }], usage: counts }
      }
      const chunk = (delta, finish_reason) => ({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })
      return [chunk(message, null), { ...chunk({}, reason), usage: counts }, '[DONE]']
    },
  },
}

const server = createServer(async (req, res) => {
  let raw = ''
  for await (const chunk of req) raw += chunk
  const json = (status, value) => {
    res.writeHead(status, { 'content-type': 'application/json' })
    res.end(JSON.stringify(value))
  }
  try {
    const api = Object.values(apis).find((a) => req.method === 'POST' && a.path.test(req.url))
    if (!api) {
      console.log(`${req.method} ${req.url}: 404`)
      if (req.url.includes('count')) return json(200, { totalTokens: 1, input_tokens: 1 })
      return json(404, { error: { message: 'this fake has no such path' } })
    }
    const body = JSON.parse(raw)
    const { turns, tools } = api.read(body)
    const decision = decide(turns, tools)
    console.log(`${req.method} ${req.url}: ${tools.length} tools, ${JSON.stringify(decision)}`)
    const answer = api.write(decision, body, req.url)
    if (!Array.isArray(answer)) return json(200, answer)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of answer) {
      if (event.type) res.write(`event: ${event.type}\n`)
      res.write(`data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    }
    res.end()
  } catch (err) {
    console.log(`${req.method} ${req.url}: ${err.stack}`)
    json(500, { error: { message: String(err) } })
  }
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
