import type { SqlStatement } from '@postcommit/store-sql';
import type { Pool, PoolClient } from 'pg';

/** One node of a plan in the output of EXPLAIN. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

export interface ExplainedPlan {
  readonly seqScans: number;
  /** Rows that any scan of the table read, those that a filter threw away included. */
  readonly rowsRead: number;
  /** The most rows that any sort was given. */
  readonly rowsSorted: number;
}

/** Runs a prepared statement, rolls it back, and returns what its plan did. */
export async function explained(
  pool: Pool,
  { text, values }: SqlStatement,
  mode: 'custom' | 'generic',
): Promise<ExplainedPlan> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(`set local plan_cache_mode = force_${mode}_plan`);
    // Parallel workers report averages.
    await client.query('set local max_parallel_workers_per_gather = 0');
    await client.query(`prepare s as ${text}`);
    const list = values.map((value) => literal(client, value)).join(', ');
    const parameters = values.length > 0 ? `(${list})` : '';
    const { rows } = await client.query(`explain (analyze, format json) execute s${parameters}`);
    return summarise(nodesOf(rows[0]['QUERY PLAN'][0].Plan));
  } finally {
    await client.query('rollback');
    await client.query('deallocate all');
    client.release();
  }
}

function literal(client: PoolClient, value: unknown): string {
  if (Array.isArray(value))
    return `array[${value.map((each) => literal(client, each)).join(', ')}]::varchar[]`;
  return client.escapeLiteral(String(value));
}

function summarise(nodes: readonly PlanNode[]): ExplainedPlan {
  const scans = nodes.filter((node) => node['Relation Name'] === 'outbox' && /Scan$/.test(node['Node Type']));
  const sorts = nodes.filter((node) => /Sort$/.test(node['Node Type']));
  return {
    seqScans: scans.filter((node) => node['Node Type'] === 'Seq Scan').length,
    rowsRead: scans.reduce((sum, node) => sum + rowsOf(node), 0),
    rowsSorted: Math.max(0, ...sorts.flatMap((node) => (node.Plans ?? []).map(rowsOf))),
  };
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** The actual rows are an average over the loops. */
function rowsOf(node: PlanNode): number {
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return Math.round((node['Actual Rows'] + removed) * node['Actual Loops']);
}
