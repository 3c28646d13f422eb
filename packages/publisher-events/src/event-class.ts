/** The class of an event: what listeners subscribe to. */
export type EventClass<Event extends object = object> = abstract new (...args: never[]) => Event;
