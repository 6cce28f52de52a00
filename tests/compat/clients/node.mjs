// kafkajs (early API versions) and @platformatic/kafka (the latest) against a node: node node.mjs BOOTSTRAP [NAME-REGEXP].
// Each check prints "ok NAME" or "FAIL NAME reason"; the last line counts them. NODE_DIR holds node_modules.
import { createRequire } from 'node:module'

const require = createRequire(process.env.NODE_DIR + '/x.js')
// Node 20 lacks what @platformatic/kafka uses
Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new Promise((onResolve, onReject) => { resolve = onResolve; reject = onReject })
  return { promise, resolve, reject }
}
const { Kafka, CompressionTypes, logLevel } = require('kafkajs')
const platformatic = await import(require.resolve('@platformatic/kafka'))
const zlib = require('node:zlib')

const bootstrap = process.argv[2].split(',')
const wanted = new RegExp(process.argv[3] ?? '')
const run = Math.random().toString(36).slice(2, 8)
const [grouped, transacted, coded] = ['group', 'transaction', 'codec'].map(name => `node-${name}-${run}`)
const codecs = ['none', 'gzip', 'snappy', 'lz4', ...(zlib.zstdCompress ? ['zstd'] : [])] // zstd needs Node 22.15
let passed = 0
let failed = 0

const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

async function check (title, body) {
  const name = title.replace(/\W+/g, '-')
  if (!wanted.test(name)) return
  try {
    await Promise.race([body(), pause(45000).then(() => { throw new Error('45 s passed') })])
    passed++
    console.log('ok', name)
  } catch (error) {
    failed++
    console.log('FAIL', name, String(error.stack ?? error).slice(0, 300).replace(/\s+/g, ' '))
  }
}

function same (got, expected) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(expected)]
  if (a !== b) throw new Error(`${a.slice(0, 80)} is not ${b.slice(0, 80)}`)
}

async function eventually (body) {
  for (let tries = 0; ; tries++) {
    try { return await body() } catch (error) {
      if (tries === 100) throw error
      await pause(100)
    }
  }
}

const kafka = new Kafka({ clientId: 'kafkajs', brokers: bootstrap, logLevel: logLevel.NOTHING })
const admin = kafka.admin()
await admin.connect()

async function drain (topic, count) {
  const consumer = kafka.consumer({ groupId: `drain-${Math.random()}` })
  const out = []
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer.run({
      eachMessage: async ({ message }) => {
        out.push(message.value.toString())
        if (out.length >= count) resolve()
      }
    }).catch(reject)
  })
  await pause(500) // for what should not come
  await consumer.disconnect()
  return out
}

await admin.createTopics({
  topics: [grouped, coded].map(topic => ({ topic, numPartitions: 3 })).concat({ topic: transacted, numPartitions: 1 }),
  waitForLeaders: false
})

await check('kafkajs create and describe', () => eventually(async () => {
  const { topics } = await admin.fetchTopicMetadata({ topics: [grouped] })
  same(topics[0].partitions.length, 3)
}))

await check('kafkajs produce gzip, group consume', async () => {
  const producer = kafka.producer({ idempotent: true })
  await producer.connect()
  const messages = Array.from({ length: 300 }, (_, i) => ({ key: String(i), value: 'v' + i, headers: { h: '1' } }))
  await producer.send({ topic: grouped, compression: CompressionTypes.GZIP, messages })
  await producer.disconnect()
  same((await drain(grouped, 300)).length, 300)
})

await check('kafkajs transactions', async () => {
  const producer = kafka.producer({ transactionalId: `node-${run}`, maxInFlightRequests: 1, idempotent: true })
  await producer.connect()
  for (const [value, commits] of [['a', true], ['b', false], ['c', true]]) {
    const transaction = await producer.transaction()
    await transaction.send({ topic: transacted, messages: [{ value }] })
    await (commits ? transaction.commit() : transaction.abort())
  }
  await producer.disconnect()
  same(await drain(transacted, 2), ['a', 'c'])
})

await check('kafkajs offsets and groups', async () => {
  const offsets = await admin.fetchTopicOffsets(grouped)
  same(offsets.reduce((sum, partition) => sum + Number(partition.high), 0), 300)
  if (!(await admin.listGroups()).groups.length) throw new Error('no groups')
  await admin.createPartitions({ topicPartitions: [{ topic: grouped, count: 5 }] })
})

await check('kafkajs configs', async () => { // AlterConfigs, the older of the two
  await admin.alterConfigs({ resources: [{ type: 2, name: grouped, configEntries: [{ name: 'retention.ms', value: '777000' }] }] })
  await eventually(async () => {
    const { resources } = await admin.describeConfigs({ resources: [{ type: 2, name: grouped, configNames: ['retention.ms'] }] })
    same(resources[0].configEntries[0].configValue, '777000')
  })
})

const base = {
  clientId: 'platformatic',
  bootstrapBrokers: bootstrap,
  serializers: platformatic.stringSerializers,
  deserializers: platformatic.stringDeserializers
}

for (const codec of codecs) {
  await check(`platformatic produce ${codec}`, async () => {
    const producer = new platformatic.Producer({ ...base, compression: codec, idempotent: true })
    const messages = Array.from({ length: 100 }, (_, i) => ({ topic: coded, key: 'k' + i, value: codec + i }))
    await producer.send({ messages, compression: codec })
    await producer.close()
  })
}

for (const protocol of ['classic', 'consumer']) {
  await check(`platformatic consume ${protocol}`, async () => {
    const choice = protocol === 'consumer' ? { groupProtocol: protocol } : {}
    const consumer = new platformatic.Consumer({ ...base, groupId: `node-${protocol}-${run}`, ...choice })
    const stream = await consumer.consume({ topics: [coded], mode: 'earliest', autocommit: true, maxWaitTime: 500 })
    let count = 0
    for await (const _ of stream) if (++count >= 100 * codecs.length) break
    await consumer.close(true)
    same(count, 100 * codecs.length)
  })
}

await check('platformatic admin', async () => {
  const topic = `node-admin-${run}`
  const own = new platformatic.Admin({ ...base })
  await own.createTopics({ topics: [topic], partitions: 2, replicas: Number(process.env.RF ?? 1) })
  if (!(await own.listTopics()).includes(topic)) throw new Error('not listed')
  await own.deleteTopics({ topics: [topic] })
  await own.close()
})

await check('kafkajs delete', () => admin.deleteTopics({ topics: [grouped, transacted, coded] }))
await admin.disconnect()
console.log(`${passed} passed, ${failed} failed, 0 skipped`)
process.exit(0)
