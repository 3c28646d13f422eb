export declare const client: import('pg').PoolClient;
