/** A recorded course of series, one value a minute, and whether an alert fires at its end. */
export interface AlertCase {
  readonly alert: string;
  readonly fires: boolean;
  readonly when: string;
  /** In the notation of promtool: `0+2x20` is 0, 2, 4 and so on, `_x5` is five missing scrapes, `stale` is a lost target. */
  readonly series: Readonly<Record<string, string>>;
  /** Minutes after the first value. */
  readonly atMinute: number;
  /** The labels of the alert, besides its severity. */
  readonly labels?: Readonly<Record<string, string>>;
}

const ORDERS = 'job="orders", outbox_name=""';
const TOPIC = 'messaging_destination_name="order.paid"';
const orders = { job: 'orders' };
const ordersPaid = { job: 'orders', messaging_destination_name: 'order.paid' };

export const ALERT_CASES: readonly AlertCase[] = [
  {
    alert: 'OutboxWorkerMissing',
    fires: true,
    when: 'the only process with a worker is gone',
    series: {
      'outbox_worker_running{job="orders", instance="a"}': '1x10 stale',
      'outbox_worker_running{job="mails", instance="b"}': '1x30',
    },
    atMinute: 17,
    labels: orders,
  },
  {
    alert: 'OutboxWorkerMissing',
    fires: true,
    when: 'the process runs on without its worker',
    series: { 'outbox_worker_running{job="orders", instance="a"}': '1x10 0x20' },
    atMinute: 20,
    labels: orders,
  },
  {
    alert: 'OutboxWorkerMissing',
    fires: true,
    when: 'no worker has ever run',
    series: { 'outbox_pending{job="api"}': '5x30' },
    atMinute: 10,
    labels: {},
  },
  {
    alert: 'OutboxWorkerMissing',
    fires: false,
    when: 'a deployment replaces the process',
    series: {
      'outbox_worker_running{job="orders", instance="a"}': '1x10 0 stale',
      'outbox_worker_running{job="orders", instance="b"}': '_x15 1x20',
    },
    atMinute: 13,
  },
  {
    alert: 'OutboxStalled',
    fires: true,
    when: 'rows are due and no dispatcher runs anywhere',
    series: { 'outbox_oldest_pending_age_seconds{job="orders", instance="api"}': '0+60x20' },
    atMinute: 12,
    labels: orders,
  },
  {
    alert: 'OutboxStalled',
    fires: true,
    when: 'a dispatcher runs and records nothing',
    series: {
      'outbox_oldest_pending_age_seconds{job="orders", instance="a"}': '0+60x30',
      'outbox_dispatched_total{job="orders", instance="a"}': '10x30',
    },
    atMinute: 20,
    labels: orders,
  },
  {
    alert: 'OutboxStalled',
    fires: false,
    when: 'old rows wait while others are dispatched',
    series: {
      'outbox_oldest_pending_age_seconds{job="orders", instance="a"}': '0+60x30',
      'outbox_dispatched_total{job="orders", instance="a"}': '0+3x30',
    },
    atMinute: 20,
  },
  {
    alert: 'OutboxDestinationUnavailable',
    fires: true,
    when: 'an outage lasts',
    series: { 'outbox_destination_unavailable{job="orders", outbox_destination="publisher"}': '0x5 1x20' },
    atMinute: 12,
    labels: { ...orders, outbox_destination: 'publisher' },
  },
  {
    alert: 'OutboxDestinationUnavailable',
    fires: false,
    when: 'an outage ends within three minutes',
    series: {
      'outbox_destination_unavailable{job="orders", outbox_destination="publisher"}': '0x5 1x2 0x20',
    },
    atMinute: 8,
  },
  {
    alert: 'OutboxBacklogOld',
    fires: true,
    when: 'the oldest row becomes ever older',
    series: { [`outbox_oldest_pending_age_seconds{${ORDERS}}`]: '0+60x20' },
    atMinute: 12,
    labels: orders,
  },
  {
    alert: 'OutboxBacklogOld',
    fires: false,
    when: 'rows wait for four minutes',
    series: { [`outbox_oldest_pending_age_seconds{${ORDERS}}`]: '240x20' },
    atMinute: 20,
  },
  {
    alert: 'OutboxRowsDead',
    fires: true,
    when: 'the first row dies, of a topic that was at zero',
    series: { [`outbox_dead_total{job="orders", ${TOPIC}, outbox_dead_reason="permanent"}`]: '0x20 1x20' },
    atMinute: 22,
    labels: { ...ordersPaid, outbox_dead_reason: 'permanent' },
  },
  {
    alert: 'OutboxRowsDead',
    fires: true,
    when: 'the first row of a topic dies before the topic was ever scraped',
    series: { [`outbox_dead_total{job="orders", ${TOPIC}, outbox_dead_reason="exhausted"}`]: '_x20 1x20' },
    atMinute: 22,
    labels: { ...ordersPaid, outbox_dead_reason: 'exhausted' },
  },
  {
    alert: 'OutboxRowsDead',
    fires: false,
    when: 'the last row died an hour ago, and a topic has just begun at zero',
    series: {
      [`outbox_dead_total{job="orders", ${TOPIC}, outbox_dead_reason="permanent"}`]: '0x5 1x70',
      [`outbox_dead_total{job="orders", ${TOPIC}, outbox_dead_reason="exhausted"}`]: '_x60 0x10',
    },
    atMinute: 65,
  },
  {
    alert: 'OutboxPublishFailing',
    fires: true,
    when: 'two of three publishes fail',
    series: {
      [`outbox_publish_duration_seconds_count{job="orders", ${TOPIC}}`]: '0+1x30',
      [`outbox_publish_duration_seconds_count{job="orders", ${TOPIC}, error_type="ECONNRESET"}`]: '0+2x30',
    },
    atMinute: 25,
    labels: ordersPaid,
  },
  {
    alert: 'OutboxPublishFailing',
    fires: false,
    when: 'one of three publishes fails',
    series: {
      [`outbox_publish_duration_seconds_count{job="orders", ${TOPIC}}`]: '0+2x30',
      [`outbox_publish_duration_seconds_count{job="orders", ${TOPIC}, error_type="ECONNRESET"}`]: '0+1x30',
    },
    atMinute: 25,
  },
  {
    alert: 'OutboxDispatchSlow',
    fires: true,
    when: 'one row in ten starts a minute late',
    series: {
      [`outbox_dispatch_lag_seconds_bucket{job="orders", ${TOPIC}, le="30"}`]: '0+9x30',
      [`outbox_dispatch_lag_seconds_bucket{job="orders", ${TOPIC}, le="60"}`]: '0+10x30',
      [`outbox_dispatch_lag_seconds_bucket{job="orders", ${TOPIC}, le="+Inf"}`]: '0+10x30',
    },
    atMinute: 25,
    labels: ordersPaid,
  },
  {
    alert: 'OutboxDispatchSlow',
    fires: false,
    when: 'one row in a hundred starts a minute late',
    series: {
      [`outbox_dispatch_lag_seconds_bucket{job="orders", ${TOPIC}, le="30"}`]: '0+99x30',
      [`outbox_dispatch_lag_seconds_bucket{job="orders", ${TOPIC}, le="60"}`]: '0+100x30',
      [`outbox_dispatch_lag_seconds_bucket{job="orders", ${TOPIC}, le="+Inf"}`]: '0+100x30',
    },
    atMinute: 25,
  },
  {
    alert: 'OutboxFailing',
    fires: true,
    when: 'more attempts fail than rows are dispatched',
    series: {
      [`outbox_failed_total{${ORDERS}}`]: '0+2x40',
      [`outbox_dispatched_total{${ORDERS}}`]: '0+1x40',
    },
    atMinute: 30,
    labels: orders,
  },
  {
    alert: 'OutboxFailing',
    fires: false,
    when: 'nothing happens',
    series: { [`outbox_failed_total{${ORDERS}}`]: '0x40', [`outbox_dispatched_total{${ORDERS}}`]: '0x40' },
    atMinute: 30,
  },
  {
    alert: 'OutboxClaimsLost',
    fires: true,
    when: 'the first claim is lost',
    series: { [`outbox_fenced_total{${ORDERS}}`]: '0x10 1x20' },
    atMinute: 12,
    labels: orders,
  },
  {
    alert: 'OutboxClaimsLost',
    fires: false,
    when: 'the process restarts, and its counter with it',
    series: { [`outbox_fenced_total{${ORDERS}}`]: '0x20 stale 0x20' },
    atMinute: 30,
  },
  {
    alert: 'OutboxBacklogUnreadable',
    fires: true,
    when: 'no read succeeds',
    series: { [`outbox_backlog_failures_total{${ORDERS}}`]: '0x5 1+1x20' },
    atMinute: 15,
    labels: orders,
  },
  {
    alert: 'OutboxBacklogUnreadable',
    fires: false,
    when: 'one read fails',
    series: { [`outbox_backlog_failures_total{${ORDERS}}`]: '0x5 1x20' },
    atMinute: 15,
  },
];
