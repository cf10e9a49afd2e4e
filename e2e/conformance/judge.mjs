// Judges what the suite ran by the suite's own rules for expected failures: also
// what it does not score, and with the messages that its summary leaves out. Then
// the list of expected failures itself.
//
//   node judge.mjs expected-failures.yml RESULTS...
//
// RESULTS are output folders of the suite, each named after its revision. The
// list's key `server` is the suite's; `unscored` is ours, with entries of the
// same form. Every entry needs a reason: a comment above it or above its group.
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { parse } from 'yaml'

const [listFile, ...folders] = process.argv.slice(2)
const source = readFileSync(listFile, 'utf8')
const list = parse(source)
const problems = []

let reason = ''
for (const line of source.split('\n')) {
  if (!line.trim() || /^\w+:/.test(line)) reason = ''
  else if (line.trim().startsWith('#')) reason += line
  else if (!reason && !line.includes('#')) problems.push(`there is no reason for ${line.trim()}`)
}

const suite = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')
const severity = { FAILURE: 3, WARNING: 2, SUCCESS: 1, SKIPPED: 0, INFO: 0 }
const ran = new Set()
const scored = new Set(list.server ?? [])
const unscored = new Set(list.unscored ?? [])
let judged = 0
for (const folder of folders) {
  const requirements = parse(readFileSync(join(suite, '../requirements', `${basename(folder)}.yaml`), 'utf8'))
  const open = new Set(requirements.not_scored.filter((s) => s.leg === 'server').map((s) => s.scenario))
  for (const name of readdirSync(folder)) {
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '')
    ran.add(scenario)
    judged++
    const expected = open.has(scenario) ? unscored : scored
    const worst = new Map()
    for (const c of JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8'))) {
      const before = worst.get(c.id)
      if (!before || severity[c.status] > severity[before.status]) worst.set(c.id, c)
    }
    const where = `${scenario} (${basename(folder)})`
    const failing = [...worst.values()].filter((c) => severity[c.status] >= 2)
    if (expected.has(scenario)) {
      if (!failing.length) problems.push(`${where} passes: take it off the list`)
      continue
    }
    for (const c of failing) {
      if (!expected.has(`${scenario}:${c.id}`)) problems.push(`${where}: ${c.id}: ${c.status}: ${c.errorMessage}`)
    }
    for (const [id, c] of worst) {
      if (c.status === 'SUCCESS' && expected.has(`${scenario}:${id}`)) problems.push(`${where}: ${id} passes: take it off the list`)
    }
  }
}
for (const entry of [...scored, ...unscored]) {
  if (!ran.has(entry.split(':')[0])) problems.push(`the suite ran nothing of the name ${entry}: take it off the list`)
}
if (problems.length) {
  console.log(problems.join('\n'))
  process.exit(1)
}
console.log(`${judged} scenarios: all as expected`)
