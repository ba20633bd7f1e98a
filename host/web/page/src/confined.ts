// A worker in which components run: nothing in it reaches a network, a storage or another worker.
//
// Its script is a `data:` URL. Therefore it has an origin of its own, without storage, and inherits the Content Security Policy of the page,
// whatever the server sends with its files. It only executes verified text.

/** Names that are kept: those of the language, and those that this page and the generated code use. */
const KEPT = new Set(
  (
    "Array ArrayBuffer AsyncDisposableStack Atomics BigInt BigInt64Array BigUint64Array Boolean DataView Date DisposableStack Error AggregateError " +
    "EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array Intl Iterator JSON Map " +
    "Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError Symbol SyntaxError " +
    "Temporal TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly constructor decodeURI " +
    "decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt undefined unescape " +
    "AbortController AbortSignal atob btoa Blob DOMException FileReaderSync TextDecoder TextEncoder URL clearInterval clearTimeout console performance " +
    "queueMicrotask self setInterval setTimeout " +
    "structuredClone"
  ).split(" "),
);

/** Removes everything else from the scope: `fetch`, `indexedDB`, `navigator`, `Worker`, `postMessage`, and names of future browsers. */
export function confine(): void {
  const { getOwnPropertyNames, getPrototypeOf } = Object;
  for (let of: object | null = globalThis; of !== null && of !== Object.prototype; of = getPrototypeOf(of) as object | null) {
    for (const name of getOwnPropertyNames(of)) {
      if (KEPT.has(name) || Reflect.deleteProperty(of, name)) continue;
      // Numeric constants of interfaces give no access to anything.
      if (typeof Reflect.getOwnPropertyDescriptor(of, name)?.value === "number") continue;
      throw new Error(`this browser lets no worker do without \`${name}\``);
    }
  }
}

/** Starts a confined worker; `script` is the text of `worker.js`. */
export function confinedWorker(script: string): Worker {
  return new Worker(`data:text/javascript;charset=utf-8,${encodeURIComponent(script)}`, { type: "module" });
}
