import { DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';

/** Units that become part of a name; those in braces never do. */
const UNIT_SUFFIXES: Readonly<Record<string, string>> = { s: '_seconds' };

/** The names of a metric's series in Prometheus, as a collector translates them: a unit is not added twice. */
export function prometheusNames({ descriptor, dataPointType }: MetricData): string[] {
  const bare = prometheusLabel(descriptor.name);
  const suffix = unitSuffix(descriptor.unit);
  const name = bare.endsWith(suffix) ? bare : bare + suffix;
  if (dataPointType === DataPointType.HISTOGRAM)
    return ['_bucket', '_sum', '_count'].map((suffix) => name + suffix);
  const isCounter = dataPointType === DataPointType.SUM && !name.endsWith('_total');
  return [isCounter ? `${name}_total` : name];
}

export function prometheusLabel(attribute: string): string {
  return attribute.replace(/\W/g, '_');
}

/** The metrics that a PromQL query, or a variable of Grafana, asks for. */
export function metricsIn(query: string): string[] {
  const bare = query
    .replace(/"[^"]*"/g, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replace(/\b(by|on)\s*\([^)]*\)/g, ' ')
    .replace(/,\s*\w+\)$/, ')');
  const words = bare.match(/\b[a-z_]\w*\b(?!\s*\()/gi) ?? [];
  return words.filter((word) => !['and', 'or', 'unless', 'offset'].includes(word));
}

/** The labels that a query filters or groups by. */
export function labelsIn(query: string): string[] {
  const filters = [...query.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => label);
  const groups = [...query.matchAll(/\b(?:by|on)\s*\(([^)]*)\)/g)].flatMap(([, list]) =>
    list?.split(/\s*,\s*/),
  );
  const asked = [...query.matchAll(/^label_values\(.*,\s*(\w+)\)$/g)].map(([, label]) => label);
  return [...filters, ...groups, ...asked].flatMap((label) => label || []);
}

function unitSuffix(unit: string): string {
  if (/^\{.*\}$/.test(unit)) return '';
  const suffix = UNIT_SUFFIXES[unit];
  if (suffix === undefined) throw new Error(`no Prometheus suffix is known for the unit '${unit}'`);
  return suffix;
}
