export declare function findMissing(app: import('@postcommit/core').OutboxApp): Promise<number>;
