export { handleOnce } from '@postcommit/inbox';

export declare const channel: import('amqplib').Channel;
export declare const message: import('amqplib').ConsumeMessage;
export declare const processed: import('@postcommit/core').ProcessedMessages;
export declare function credit(tx: import('pg').PoolClient, payment: unknown): Promise<void>;
