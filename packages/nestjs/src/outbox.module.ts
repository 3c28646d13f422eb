import {
  type ConfigurableModuleAsyncOptions,
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Module as NestModule,
  Optional,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, ModuleRef } from '@nestjs/core';
import { OutboxModule as CoreModule, type Module, OutboxStore, type Token } from '@postcommit/core';
import { assertKnownOptions, type OptionNames } from '@postcommit/core/internal';
import { COMMANDS_ONLY, commandsOnly } from './commands-only.js';
import { discoverHandlers } from './handler-discovery.js';
import { lookupIn, type NestLookup } from './nest-lookup.js';
import { OUTBOX_APP } from './outbox-app.js';
import { OutboxComposition } from './outbox-composition.js';
import { OutboxEmitter } from './outbox-emitter.js';
import { OutboxHealthIndicator } from './outbox-health-indicator.js';
import { OutboxLifecycle } from './outbox-lifecycle.js';
import type { OutboxModuleExtras, OutboxModuleOptions } from './outbox-module-options.js';
import { EXTRA_NAMES, invalid } from './resolve-options.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<OutboxModuleOptions>({
  moduleName: 'Outbox',
})
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createOutboxOptions')
  .setExtras<OutboxModuleExtras>({ isGlobal: true, modules: [], tokens: [] }, withProviders)
  .build();

export type OutboxModuleAsyncOptions = ConfigurableModuleAsyncOptions<
  OutboxModuleOptions,
  'createOutboxOptions'
> &
  OutboxModuleExtras;

const ASYNC_NAMES: OptionNames<OutboxModuleAsyncOptions> = {
  useFactory: true,
  useClass: true,
  useExisting: true,
  inject: true,
  imports: true,
  provideInjectionTokensFrom: true,
  ...EXTRA_NAMES,
};

/**
 * Runs the outbox in a Nest application. The worker runs from `onApplicationBootstrap` to `beforeApplicationShutdown`.
 * Provides `OutboxEmitter`, `OutboxHealthIndicator`, the composed outbox as `OUTBOX_APP`, and the tokens of its modules.
 *
 * @throws OutboxError `INVALID_CONFIG` from `forRoot` and `forRootAsync` for an unknown or invalid option.
 * @example
 * OutboxModule.forRoot({ prisma: PrismaService })
 */
export class OutboxModule extends ConfigurableModuleClass {
  /** @throws OutboxError `INVALID_CONFIG` if the module was imported without `forRoot` or `forRootAsync`. */
  constructor(options?: OutboxModuleOptions) {
    super();
    if (options === undefined)
      throw invalid(
        'needs options: import OutboxModule.forRoot({ … }), or forRootAsync with a factory that returns them',
      );
  }

  static override forRoot(options: OutboxModuleOptions & OutboxModuleExtras): DynamicModule {
    if (options === undefined)
      throw invalid('needs options: pass forRoot({ prisma: PrismaService }), for example');
    // Composed here only to learn its tokens and to report invalid options at the call.
    const { tokens } = new OutboxComposition(options, { lookup: tooEarly, discover: () => [] });
    return withTokens(super.forRoot(options), [...tokens, ...(options.tokens ?? [])]);
  }

  static override forRootAsync(options: OutboxModuleAsyncOptions): DynamicModule {
    if (options === undefined) throw invalid('forRootAsync needs options: pass { useFactory }, for example');
    assertKnownOptions('OutboxModule.forRootAsync', options, ASYNC_NAMES);
    const { modules = [], tokens = [] } = options;
    const known = [CoreModule, ...modules].flatMap(({ provides = [] }) => provides);
    return withTokens(super.forRootAsync(options), [
      ...known.map(({ provide }) => provide),
      OutboxStore,
      ...tokens,
    ]);
  }

  /**
   * Wraps your application module for a program that runs commands. The outbox starts neither its worker nor the check of
   * its table, so every command works on an empty database and before an upgrade.
   *
   * @example
   * const app = await NestFactory.createApplicationContext(OutboxModule.forCommands(AppModule));
   * registerOutboxCommands(program, app.get(OUTBOX_APP));
   */
  static forCommands(appModule: Type | DynamicModule): DynamicModule {
    return commandsOnly(appModule);
  }
}
// Called rather than written as decorators, so that this file compiles without decorator support.
NestModule({})(OutboxModule);
Inject(MODULE_OPTIONS_TOKEN)(OutboxModule, undefined, 0);
Optional()(OutboxModule, undefined, 0);

function withProviders(
  definition: DynamicModule,
  { isGlobal = true, modules = [] }: OutboxModuleExtras,
): DynamicModule {
  const providers: Provider[] = [
    {
      provide: OutboxComposition,
      inject: [MODULE_OPTIONS_TOKEN, ModuleRef, DiscoveryService],
      useFactory: (options: OutboxModuleOptions, moduleRef: ModuleRef, discovery: DiscoveryService) =>
        compose(options, modules, moduleRef, discovery),
    },
    fromComposition(OUTBOX_APP, ({ app }) => app),
    fromComposition(OutboxEmitter, ({ store, options }) => new OutboxEmitter(store, options.retry)),
    fromComposition(OutboxHealthIndicator, (composition) => new OutboxHealthIndicator(composition)),
    {
      provide: OutboxLifecycle,
      inject: [OutboxComposition, MODULE_OPTIONS_TOKEN, { token: COMMANDS_ONLY, optional: true }],
      useFactory: (
        composition: OutboxComposition,
        { shutdownGraceMs }: OutboxModuleOptions,
        startsNothing = false,
      ) => new OutboxLifecycle(composition, { shutdownGraceMs, startsNothing }),
    },
  ];
  return {
    ...definition,
    global: isGlobal,
    imports: [...(definition.imports ?? []), DiscoveryModule],
    providers: [...(definition.providers ?? []), ...providers],
    exports: [OUTBOX_APP, OutboxEmitter, OutboxHealthIndicator],
  };
}

function compose(
  options: OutboxModuleOptions,
  modules: readonly Module[],
  moduleRef: ModuleRef,
  discovery: DiscoveryService,
): OutboxComposition {
  return new OutboxComposition(
    { ...options, modules: [...modules, ...(options.modules ?? [])] },
    { lookup: lookupIn(moduleRef), discover: () => discoverHandlers(discovery) },
  );
}

function fromComposition(
  provide: Token | symbol,
  make: (composition: OutboxComposition) => unknown,
): Provider {
  return { provide, inject: [OutboxComposition], useFactory: make };
}

function withTokens(definition: DynamicModule, tokens: readonly Token[]): DynamicModule {
  const unique = [...new Set(tokens)];
  return {
    ...definition,
    providers: [
      ...(definition.providers ?? []),
      ...unique.map((token) => fromComposition(token, ({ app }) => app.get(token))),
    ],
    exports: [...(definition.exports ?? []), ...unique],
  };
}

const tooEarly: NestLookup = (token) => {
  throw new Error(`${token.name} was looked up before the application exists`);
};
