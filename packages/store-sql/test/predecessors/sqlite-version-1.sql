-- Postcommit outbox on SQLite, schema version 1
create table if not exists "outbox" (
  "seq" integer primary key autoincrement,
  "id" text not null,
  "topic" text not null,
  "payload" text,
  "key" text,
  "headers" text,
  "created_at" integer not null default (cast(round(unixepoch('subsec') * 1000) as integer)),
  "available_at" integer not null default (cast(round(unixepoch('subsec') * 1000) as integer)),
  "dispatched_at" integer,
  "dead_at" integer,
  "dead_reason" text,
  "attempts" integer not null default (0),
  "retakes" integer not null default (0),
  "last_error" text,
  "claim_token" text,
  "claimed_at" integer,
  "claimed_until" integer,
  "claimed_key" text,
  "max_attempts" integer,
  "backoff" text,
  unique ("id"),
  constraint "outbox_claim_check" check ((claim_token is null) = (claimed_at is null) and (claim_token is null) = (claimed_until is null)),
  constraint "outbox_state_check" check (dispatched_at is null or dead_at is null)
) strict;
create index if not exists "outbox_due" on "outbox" ("available_at", "seq") where dispatched_at is null and dead_at is null and key is null;
create index if not exists "outbox_keyed_due" on "outbox" ("available_at", "seq") where dispatched_at is null and dead_at is null and key is not null;
create index if not exists "outbox_keyed" on "outbox" ("key", "seq") where dispatched_at is null and dead_at is null and key is not null;
create index if not exists "outbox_claimed_key" on "outbox" ("claimed_key") where claimed_key is not null;
create index if not exists "outbox_dispatched" on "outbox" ("dispatched_at") where dispatched_at is not null;
create index if not exists "outbox_dead" on "outbox" ("dead_at") where dead_at is not null;
create table if not exists "outbox_locks" (
  "name" text not null primary key,
  "token" text not null,
  "locked_until" integer not null
) strict;
create table if not exists "outbox_processed" (
  "consumer" text not null,
  "row_id" text not null,
  "processed_at" integer not null default (cast(round(unixepoch('subsec') * 1000) as integer)),
  primary key ("consumer", "row_id")
) strict;
create index if not exists "outbox_processed_at" on "outbox_processed" ("processed_at");
