// Checks messages that went over the wire against the official schema of their
// protocol version.
//
//   node validate.mjs FOLDER
//
// Each file of FOLDER is the record of one connection: JSON lines of
//
//   {"version": "2025-11-25", "direction": "client"|"server", "message": {...}}
//
// in the order of the wire; direction says who sent the message. A message that is
// wrong on purpose, since the test is about that, may be left out if it is refused,
// or has "deliberate": "why" beside it; then it is not checked, but its answer is.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { officialSchemas } from './official.mjs'

/** What no name in the schema tells: the result of a request. */
const emptyResults = ['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe']
/** Methods of extensions, whose schemas are not the protocol's. */
const extension = /^(tasks\/|notifications\/tasks(\/|$))/
/** What may be answered with a request for input (basic/patterns/mrtr). */
const mayAsk = ['tools/call', 'prompts/get', 'resources/read']

class Schema {
  constructor(schema) {
    const key = schema.$defs ? '$defs' : 'definitions'
    this.definitions = schema[key]
    const ajv = new (schema.$defs ? Ajv2020 : Ajv)({ strict: false, allErrors: true })
    addFormats(ajv)
    ajv.addFormat('byte', /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/)
    ajv.addSchema(schema, 'mcp')
    const compiled = new Map()
    this.errors = (name, value) => {
      if (!compiled.has(name)) compiled.set(name, ajv.compile({ $ref: `mcp#/${key}/${name}` }))
      const validate = compiled.get(name)
      if (validate(value)) return []
      return validate.errors.slice(0, 6).map((e) => `${name}${e.instancePath} ${e.message}${e.params?.allowedValue ? ` ${e.params.allowedValue}` : ''}`)
    }
  }

  /** The first of the names that this version has. */
  first(...names) {
    return names.find((n) => n in this.definitions)
  }

  /** The definition of the method in a union such as ClientRequest, which may be one definition or none. */
  ofMethod(union, method) {
    const members = this.definitions[union]?.anyOf?.map((m) => m.$ref.split('/').pop()) ?? [union]
    return members.find((n) => this.definitions[n]?.properties?.method?.const === method)
  }

  /** The definition of a request whichever side sends it. */
  ofRequest(method) {
    return this.ofMethod('ClientRequest', method) ?? this.ofMethod('ServerRequest', method)
  }
}

/** The requests of one connection that wait for their answer. */
class Connection {
  constructor(schemas) {
    this.schemas = schemas
    this.requests = { client: new Map(), server: new Map() }
  }

  check({ version, direction, message, deliberate }) {
    const schema = this.schemas.get(version)
    if (!schema) return [`there is no schema of version ${version}`]
    if (direction !== 'client' && direction !== 'server') return [`direction is ${direction}, neither client nor server`]
    if (Array.isArray(message)) {
      if (version !== '2025-03-26') return [`version ${version} has no batches`]
      return message.flatMap((m) => this.check({ version, direction, message: m, deliberate }))
    }
    const errors = this.errors(schema, direction, message ?? {})
    return deliberate ? [] : errors
  }

  errors(schema, direction, message) {
    const side = direction === 'client' ? 'Client' : 'Server'
    const { method, id } = message
    if (method !== undefined) {
      const request = id !== undefined
      if (request) this.requests[direction].set(JSON.stringify(id), method)
      const kind = request ? 'Request' : 'Notification'
      const errors = schema.errors(`JSONRPC${kind}`, message)
      if (extension.test(method)) return errors
      const definition = schema.ofMethod(side + kind, method)
      if (!definition) return [...errors, `the ${direction} has no ${kind.toLowerCase()} ${method}`]
      return [...errors, ...schema.errors(definition, message)]
    }
    if (message.error !== undefined) return this.failure(schema, direction, message)
    return this.result(schema, direction, message)
  }

  /** What request a response belongs to; each is answered once. */
  answered(direction, id) {
    const asked = this.requests[direction === 'client' ? 'server' : 'client']
    const method = asked.get(JSON.stringify(id))
    asked.delete(JSON.stringify(id))
    return method
  }

  failure(schema, direction, message) {
    const { id, error } = message
    const name = Object.keys(schema.definitions).find((n) =>
      schema.definitions[n].properties?.error?.allOf?.some((part) => part.properties?.code?.const === error.code))
    // A request that cannot be read has no id to answer to, and a record may leave
    // out what was refused.
    this.answered(direction, id)
    const base = id === null || id === undefined ? { ...message, id: 0 } : message
    return schema.errors(name ?? schema.first('JSONRPCErrorResponse', 'JSONRPCError'), base)
  }

  result(schema, direction, message) {
    const { id, result } = message
    const errors = schema.errors(schema.first('JSONRPCResultResponse', 'JSONRPCResponse'), message)
    const method = this.answered(direction, id)
    if (method === undefined) return [...errors, `no request has the id ${JSON.stringify(id)}, or it has been answered before`]
    if (extension.test(method)) return errors
    if (result?.resultType === 'task' && method === 'tools/call') return errors
    if (result?.resultType === 'input_required' && 'InputRequiredResult' in schema.definitions) {
      if (!mayAsk.includes(method)) errors.push(`${method} must not be answered with a request for input`)
      return [...errors, ...schema.errors('InputRequiredResult', result)]
    }
    const request = schema.ofRequest(method)
    if (!request) return [...errors, `the result of ${method}, which this version does not have`]
    const name = emptyResults.includes(method) ? 'EmptyResult' : request.replace(/Request$/, 'Result')
    if (!(name in schema.definitions)) return [...errors, `the schema has no ${name} for ${method}`]
    return [...errors, ...schema.errors(name, result)]
  }
}

const folder = process.argv[2]
if (!folder) {
  console.error('usage: node validate.mjs FOLDER')
  process.exit(2)
}
const schemas = new Map(Object.entries(officialSchemas()).map(([version, schema]) => [version, new Schema(schema)]))
const counts = {}
let messages = 0
let wrong = 0
const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((f) => f.isFile()).map((f) => join(f.parentPath, f.name)).sort()
for (const file of files) {
  const connection = new Connection(schemas)
  readFileSync(file, 'utf8').split('\n').forEach((line, i) => {
    if (!line) return
    messages++
    let entry = {}
    let errors
    try {
      entry = JSON.parse(line)
      errors = connection.check(entry)
    } catch (err) {
      errors = [String(err)]
    }
    counts[entry.version] = (counts[entry.version] ?? 0) + 1
    if (!errors.length) return
    wrong++
    console.log(`${file}:${i + 1}: wrong in ${entry.version}, from the ${entry.direction}: ${JSON.stringify(entry.message)?.slice(0, 500)}`)
    for (const e of errors) console.log(`    ${e}`)
  })
}
const versions = Object.entries(counts).sort().map(([v, n]) => `${v}: ${n}`).join(', ')
console.log(`${messages} messages in ${files.length} files, ${wrong} wrong (${versions || 'none at all'})`)
process.exit(wrong || !messages ? 1 : 0)
