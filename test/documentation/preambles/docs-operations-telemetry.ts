export declare const metricExporter: import('@opentelemetry/sdk-metrics').PushMetricExporter;
export declare const spanExporter: import('@opentelemetry/sdk-trace-base').SpanExporter;
