// A worker in which components run: nothing is left in it that reaches a network, a storage or another worker.
//
// Its script is a `data:` URL. So it has an origin of its own, without storage, and inherits the Content Security Policy of the page, whatever
// the server sends with its files. What it executes besides is text that was verified.

/** Names of the language, and of the few things that this page and the generated code use. */
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

/** Takes everything else out of the scope: `fetch`, `indexedDB`, `navigator`, `Worker`, `postMessage`, and what browsers will have. */
export function confine(): void {
  const { getOwnPropertyNames, getPrototypeOf } = Object;
  for (let of: object | null = globalThis; of !== null && of !== Object.prototype; of = getPrototypeOf(of) as object | null) {
    for (const name of getOwnPropertyNames(of)) {
      if (KEPT.has(name) || Reflect.deleteProperty(of, name)) continue;
      // Constants of interfaces stay, and reach nothing.
      if (typeof Reflect.getOwnPropertyDescriptor(of, name)?.value === "number") continue;
      throw new Error(`this browser lets no worker do without \`${name}\``);
    }
  }
}

/** Starts one; `script` is the text of `worker.js`. */
export function confinedWorker(script: string): Worker {
  return new Worker(`data:text/javascript;charset=utf-8,${encodeURIComponent(script)}`, { type: "module" });
}
