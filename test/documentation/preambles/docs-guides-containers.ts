export declare const container: import('inversify').Container;
