-- Postcommit outbox, schema version 1
create table if not exists `outbox` (
  `seq` bigint not null auto_increment,
  `id` varchar(36) character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */ not null,
  `topic` varchar(255) character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */ not null,
  `payload` longtext,
  `key` varchar(255) character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */,
  `headers` longtext,
  `created_at` datetime(6) not null default (utc_timestamp(6)),
  `available_at` datetime(6) not null default (utc_timestamp(6)),
  `dispatched_at` datetime(6),
  `dead_at` datetime(6),
  `dead_reason` varchar(20),
  `attempts` int not null default 0,
  `retakes` int not null default 0,
  `last_error` mediumtext,
  `claim_token` varchar(36),
  `claimed_at` datetime(6),
  `claimed_until` datetime(6),
  `claimed_key` varchar(255) character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */,
  `max_attempts` int,
  `backoff` longtext,
  `due_at` datetime(6) generated always as (case when dispatched_at is null and dead_at is null and `key` is null then greatest(available_at, timestamp'1000-01-01 00:00:00') end) stored,
  `keyed_due_at` datetime(6) generated always as (case when dispatched_at is null and dead_at is null and `key` is not null then greatest(available_at, timestamp'1000-01-01 00:00:00') end) stored,
  `pending_key` varchar(255) character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */ generated always as (case when dispatched_at is null and dead_at is null then `key` end) stored,
  primary key (`seq`),
  unique key `outbox_id` (`id`),
  key `outbox_due` (`due_at`, `seq`),
  key `outbox_keyed_due` (`keyed_due_at`, `seq`),
  key `outbox_keyed` (`pending_key`, `seq`),
  key `outbox_claimed_key` (`claimed_key`),
  key `outbox_dispatched` (`dispatched_at`),
  key `outbox_dead` (`dead_at`),
  constraint `outbox_claim_check` check ((claim_token is null) = (claimed_at is null) and (claim_token is null) = (claimed_until is null)),
  constraint `outbox_state_check` check (dispatched_at is null or dead_at is null)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin comment 'Postcommit outbox, schema version 1';
create table if not exists `outbox_locks` (
  `name` varchar(255) character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */ not null,
  `token` varchar(36) not null,
  `locked_until` datetime(6) not null,
  primary key (`name`)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
create table if not exists `outbox_processed` (
  `consumer` varchar(255) character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */ not null,
  `row_id` varchar(36) character set utf8mb4 /*!80000 collate utf8mb4_0900_bin */ /*M! collate utf8mb4_nopad_bin */ not null,
  `processed_at` datetime(6) not null default (utc_timestamp(6)),
  primary key (`consumer`, `row_id`),
  key `outbox_processed_at` (`processed_at`)
) engine = InnoDB default character set utf8mb4 collate utf8mb4_bin;
