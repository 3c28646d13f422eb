/** One line for each page that a person wrote, except decisions: for search engines and `llms.txt`. */
export const descriptions: Readonly<Record<string, string>> = {
  '/start/': 'What you need, and which of the three start pages is yours.',
  '/start/pg': 'A whole program with a pg pool: one transaction, one message, one worker.',
  '/start/typeorm': 'A whole program with a TypeORM data source: one transaction, one message, one worker.',
  '/start/prisma': 'A whole program with a Prisma client: one transaction, one message, one worker.',
  '/start/next': 'Look at the table, let the publisher fail, and see the retries.',
  '/concepts/problem':
    'Why a write to the database and a message to a broker drift apart, and how an outbox prevents it.',
  '/concepts/state-machine': 'Pending, dispatched, dead, and what leads from one to another.',
  '/concepts/claims':
    'How several processes share one table, and why one that lost its claim can change nothing.',
  '/concepts/order': 'What a key orders, and what a failing row holds back.',
  '/concepts/promises': 'The twelve promises, each with the test that would fail without it.',
  '/concepts/worker': 'When the worker looks for rows, what it emits, how it stops.',
  '/concepts/inside-the-worker': 'The phases of a row and of a run, for readers of the source.',
  '/concepts/workers':
    'How workers notice that one has died and take its rows over, and how to pause a topic.',
  '/concepts/words': 'Each term and what it means.',
  '/comparison':
    'Postcommit beside job queues, Debezium and an outbox written by hand, and when those fit better.',
  '/guides/pg': 'Enqueue in a transaction of node-postgres, and dispatch from a pool.',
  '/guides/typeorm': 'Enqueue with an entity manager, on PostgreSQL, MariaDB, MySQL or SQLite.',
  '/guides/prisma': 'Enqueue in an interactive transaction, and keep the tables out of your migrations.',
  '/guides/databases': 'What PostgreSQL, MariaDB, MySQL and SQLite each support.',
  '/guides/nestjs': 'The module, handlers with a decorator, testing and shutdown in NestJS.',
  '/guides/events': 'Publish to listeners in the same process.',
  '/guides/publishers': 'Write a publisher for a webhook or a broker: errors, timeouts, batches, routes.',
  '/publishers/webhook':
    'Send rows as signed webhooks: endpoints of customers, rotation of secrets, a receiver.',
  '/publishers/rabbitmq': 'Send rows to RabbitMQ: exchanges and queues, confirms, and a consumer.',
  '/publishers/nats': 'Send rows to NATS JetStream: streams, the dedupe window, and a consumer.',
  '/publishers/kafka': 'Send rows to Kafka: topics, keys and partitions, acknowledgements, and a consumer.',
  '/guides/retries': 'Attempts, backoff, Retry-After, and when a row ends dead.',
  '/guides/idempotency': 'Consume a message once, although it may be delivered twice.',
  '/guides/inbox':
    'Consume each message once from RabbitMQ, NATS, Kafka and others, and receive signed webhooks.',
  '/guides/scheduling': 'Delayed messages, messages at a time, and dispatching by cron.',
  '/guides/topics': 'Types and checks for topics and payloads, from a schema.',
  '/guides/testing': 'Test your outbox in memory, with a virtual clock.',
  '/guides/containers': 'Bind the outbox in a dependency injection container of your own.',
  '/guides/from-a-status-column':
    'Move from a table with a status column, without losing or repeating a message.',
  '/publishers/webhook': 'Signed HTTP requests: options, retries, redirects, and what the receiver checks.',
  '/publishers/rabbitmq':
    'Publish with confirms to a RabbitMQ exchange: topology, routing keys, and outages.',
  '/publishers/nats': 'Publish to a stream of NATS JetStream: options, subjects, deduplication, and outages.',
  '/operations/schema': 'The tables, their indexes and grants, and how they are created and upgraded.',
  '/operations/monitoring': 'Answers by command and by SQL: what waits, what failed, how to repair it.',
  '/operations/dead-letters': 'Why a row is dead, and how to replay or discard it.',
  '/operations/retention': 'Delete rows that were dispatched long ago.',
  '/operations/tuning': 'Which option to change for throughput, latency or slow publishers.',
  '/operations/telemetry': 'OpenTelemetry spans and metrics, a dashboard and alerts.',
  '/operations/faults': 'What was killed, frozen and cut, and what came of it.',
  '/operations/replication': 'Failover, replicas, poolers and connections that are cut.',
  '/operations/runbook': 'Symptoms, where to look, and what to do.',
  '/operations/costs': 'Statements, transactions and writes for each message.',
  '/performance':
    'Throughput and latency beside the alternatives, how they were measured, and where others are ahead.',
  '/reference/options': 'Every option of every module, with its unit and default.',
  '/reference/errors': 'Every error code, its cause and its cure.',
  '/reference/cli': 'Every command and flag, what it prints and its exit codes.',
  '/reference/metrics': 'Every metric, span and attribute.',
};
