/** The class of an event. Listeners subscribe to a class. */
export type EventClass<Event extends object = object> = abstract new (...args: never[]) => Event;
