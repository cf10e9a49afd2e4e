// One face for both generations of the TypeScript SDK, as far as the checks
// need one, and a record of what goes over the wire for ../schema/validate.mjs.
import { appendFileSync } from 'node:fs'

/** The generations: what they are called with, and how they differ. */
const sdks = {
  v1: async () => {
    const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }, { SSEClientTransport }, types] =
      await Promise.all([
        import('@modelcontextprotocol/sdk/client/index.js'),
        import('@modelcontextprotocol/sdk/client/stdio.js'),
        import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
        import('@modelcontextprotocol/sdk/client/sse.js'),
        import('@modelcontextprotocol/sdk/types.js'),
      ])
    return {
      transports: { stdio: StdioClientTransport, http: StreamableHTTPClientTransport, sse: SSEClientTransport },
      client: (capabilities) => new Client({ name: 'adkmcp-e2e', version: '1.0.0' }, { capabilities }),
      onElicit: (client, handler) => client.setRequestHandler(types.ElicitRequestSchema, handler),
      onSample: (client, handler) => client.setRequestHandler(types.CreateMessageRequestSchema, handler),
      call: (client, params, options) => client.callTool(params, undefined, options),
      version: (client, transport) => transport.protocolVersion ?? transport.negotiated,
    }
  },
  v2: async () => {
    const [{ Client, StreamableHTTPClientTransport, SSEClientTransport }, { StdioClientTransport }] = await Promise.all([
      import('@modelcontextprotocol/client'),
      import('@modelcontextprotocol/client/stdio'),
    ])
    return {
      transports: { stdio: StdioClientTransport, http: StreamableHTTPClientTransport, sse: SSEClientTransport },
      client: (capabilities, mode) =>
        new Client({ name: 'adkmcp-e2e', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } }),
      onElicit: (client, handler) => client.setRequestHandler('elicitation/create', handler),
      onSample: (client, handler) => client.setRequestHandler('sampling/createMessage', handler),
      call: (client, params, options) => client.callTool(params, options),
      version: (client) => client.getNegotiatedProtocolVersion(),
    }
  },
}

/**
 * Connects to target, which is {command, args, env} for stdio and else a URL.
 * answer, if given, answers the server's elicitations: {action, content}. sampling,
 * if given, is the model: {capability, answer(params)}.
 */
export async function connect({ sdk, mode, transport: kind, target, answer, sampling, record }) {
  const s = await sdks[sdk]()
  const capabilities = { ...(answer && { elicitation: {} }), ...(sampling && { sampling: sampling.capability }) }
  const client = s.client(capabilities, mode === 'pin' ? { pin: '2026-07-28' } : mode)
  const asked = []
  if (answer) {
    s.onElicit(client, async (request) => {
      asked.push(request.params)
      return answer
    })
  }
  const sampled = []
  if (sampling) {
    s.onSample(client, async (request) => {
      sampled.push(request.params)
      return sampling.answer(request.params)
    })
  }
  const Transport = s.transports[kind]
  const transport = new Transport(kind === 'stdio' ? { ...target, stderr: 'ignore' } : new URL(target))
  const messages = tap(transport)
  await client.connect(transport, { timeout: 20_000 })
  const version = s.version(client, transport) ?? messages.version()
  return {
    client,
    asked, // the params of each elicitation
    sampled, // and of each sampling
    heard: messages.heard, // every message of the server
    version,
    call: (name, args, options) => s.call(client, { name, arguments: args }, { timeout: 30_000, ...options }),
    close: async () => {
      if (record) messages.write(record, version)
      // A client that is closed while its session is open would leave it to expire.
      if (kind === 'http' && transport.sessionId) await transport.terminateSession()
      await client.close()
    },
  }
}

/** Notes every message that the transport sends and receives. */
function tap(transport) {
  const seen = []
  const send = transport.send.bind(transport)
  transport.send = (message, ...rest) => {
    for (const m of [message].flat()) seen.push({ direction: 'client', message: structuredClone(m) })
    return send(message, ...rest)
  }
  let receive
  Object.defineProperty(transport, 'onmessage', {
    configurable: true,
    get: () => receive,
    set: (handler) => {
      receive = handler && ((message, ...rest) => {
        seen.push({ direction: 'server', message: structuredClone(message) })
        return handler(message, ...rest)
      })
    },
  })
  return {
    heard: () => seen.filter((s) => s.direction === 'server').map((s) => s.message),
    version: () => seen.find((s) => s.message.result?.protocolVersion)?.message.result.protocolVersion,
    write: (file, version) => appendFileSync(file, seen.map((s) => JSON.stringify({ version, ...s }) + '\n').join('')),
  }
}
