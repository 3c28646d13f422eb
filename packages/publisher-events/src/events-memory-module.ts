import type { Module } from '@postcommit/core';
import { EventBus } from './event-bus.js';
import { MemoryEventBus } from './memory-event-bus.js';

/** Binds `MemoryEventBus` as the event bus. */
export const EventsMemoryModule: Module = {
  name: 'EventsMemoryModule',
  provides: [{ provide: EventBus, useFactory: () => new MemoryEventBus() }],
};
