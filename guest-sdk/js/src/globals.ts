/**
 * The clock and random numbers of the language, as a graph has them.
 *
 * The engine starts once, while the component is built, and every call begins with that memory. A time or a random number that was read
 * then would be the same in every run: reading one while modules are loaded is an error. Later the time is that of the superstep, if the
 * node wants `wasi:clocks/wall-clock`, and random numbers come from `@graph-host/sdk/random`.
 */

let loading = true;

/** @internal Ends the time in which modules are loaded. */
export function started(): void {
  loading = false;
}

function atLoading(what: string): never {
  throw new Error(`${what} while the module is loaded would be the same in every run: call it in \`run\``);
}

let read: (() => number) | undefined;

/** @internal Where tests take the time from. */
export function timeFrom(clock: () => number): void {
  read = clock;
}

const { now } = Date;
Date.now = () => (loading ? atLoading('Date.now()') : (read ?? now)());
globalThis.Date = new Proxy(Date, {
  construct(target, args, newTarget) {
    if (args.length === 0 && loading) {
      atLoading('new Date()');
    }
    return Reflect.construct(target, args.length === 0 && read ? [read()] : args, newTarget);
  },
  apply(target, self, args) {
    if (loading) {
      atLoading('Date()');
    }
    return read ? new target(read()).toString() : Reflect.apply(target, self, args);
  },
});

let source: (() => number) | undefined;

/** @internal Where `Math.random` takes its numbers from. */
export function randomFrom(random: () => number): void {
  source = random;
}

Math.random = () => {
  if (loading) {
    return atLoading('Math.random()');
  }
  if (source === undefined) {
    throw new Error(
      'Math.random() needs `import "@graph-host/sdk/random"`, and `wasi:random/random` in `wants`: its numbers are those of the run',
    );
  }
  return source();
};
