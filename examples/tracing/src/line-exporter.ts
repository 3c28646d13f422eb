import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';

/** Writes a span as one line. `ConsoleSpanExporter` of the SDK writes everything there is to know. */
export class LineExporter implements SpanExporter {
  readonly spans: ReadableSpan[] = [];

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    for (const span of spans) console.log(lineOf(span));
    this.spans.push(...spans);
    done({ code: ExportResultCode.SUCCESS });
  }

  async shutdown(): Promise<void> {}
}

function lineOf(span: ReadableSpan): string {
  const { name, links, parentSpanContext } = span;
  const { traceId, spanId } = span.spanContext();
  const parent = parentSpanContext ? ` child of ${parentSpanContext.spanId}` : '';
  const linked = links.map(
    ({ context }) => ` linked to ${context.spanId} of trace ${short(context.traceId)}`,
  );
  return `trace ${short(traceId)} span ${spanId} ${name.padEnd(15)}${parent}${linked.join('')}`;
}

function short(traceId: string): string {
  return traceId.slice(0, 6);
}
