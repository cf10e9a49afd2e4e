// The official JSON Schemas of MCP, taken from the pinned conformance suite,
// which bundles them as object literals.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { runInNewContext } from 'node:vm'

/** Gives the schemas by protocol version. */
export function officialSchemas() {
  const file = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json').replace(/package\.json$/, 'dist/index.js')
  const source = readFileSync(file, 'utf8')
  const table = /\{"2025-03-26":([\w$]+),"2025-06-18":([\w$]+),"2025-11-25":([\w$]+),\[[\w$]+\]:([\w$]+)\}/.exec(source)
  if (!table) throw new Error(`${file} has no table of schemas: look how this version of the suite bundles them`)
  const versions = ['2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']
  const schemas = Object.fromEntries(versions.map((version, i) => [version, literal(source, table[i + 1])]))
  for (const version of ['2025-06-18', '2025-11-25']) numbers(schemas[version])
  schemas['2024-11-05'] = firstVersion(schemas['2025-03-26'])
  return schemas
}

/** Gives the value of `name={$schema:...}` in the source. */
function literal(source, name) {
  const start = source.indexOf(`${name}={$schema:`) + name.length + 1
  let depth = 0
  for (let i = start; i < source.length; i++) {
    const c = source[i]
    if (c === '{') depth++
    else if (c === '}' && --depth === 0) return JSON.parse(JSON.stringify(runInNewContext(`(${source.slice(start, i + 1)})`)))
    else if (c === '"' || c === "'" || c === '`') while (source[++i] !== c) if (source[i] === '\\') i++
  }
  throw new Error(`the literal ${name} has no end`)
}

/**
 * The published schemas make integers of numbers in the forms of elicitation,
 * which the specification's text and its TypeScript source don't.
 */
function numbers(schema) {
  const properties = (schema.$defs ?? schema.definitions).NumberSchema?.properties ?? {}
  for (const key of ['minimum', 'maximum', 'default']) if (properties[key]?.type === 'integer') properties[key].type = 'number'
}

/**
 * The suite does not know 2024-11-05. What 2025-03-26 added are optional
 * properties, which any of these schemas lets pass, and audio and batches, which
 * are taken out here.
 */
function firstVersion(next) {
  const schema = structuredClone(next)
  const audio = '#/definitions/AudioContent'
  const strip = (node) => {
    if (!node || typeof node !== 'object') return
    if (Array.isArray(node.anyOf)) node.anyOf = node.anyOf.filter((s) => s.$ref !== audio && !/Batch/.test(s.$ref ?? ''))
    Object.values(node).forEach(strip)
  }
  strip(schema)
  return schema
}
