export { NoListenerCounter } from '@postcommit/scheduled-messages';

export declare const client: import('pg').PoolClient;
export declare const meter: import('@opentelemetry/api').Meter;
export declare const payload: { invoiceId: string };
export declare const runAt: Date;
