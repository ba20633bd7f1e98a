// The meter of one call, shared by all core modules of the component: `host/docs/design/fuel.md`.

import { Fault, tooMuchMemory } from "./fault";

const PAGE = 65536;
/** Module name of the meter in imports of core modules. */
const NAME = "graph-host:meter";

/** Checks whether a core module counts its fuel. */
export const counts = (module: WebAssembly.Module): boolean => WebAssembly.Module.imports(module).some(({ module: from }) => from === NAME);

export class Meter {
  /** Negative fuel, counted up to 0. Instantiation is not limited. */
  readonly fuel = new WebAssembly.Global({ value: "i64", mutable: true }, -(2n ** 63n));
  /** Pages by which all memories together may still grow. */
  readonly pages: WebAssembly.Global<"i64">;
  readonly stop = new WebAssembly.Global({ value: "i32", mutable: true }, 0);
  private began = false;

  /** `begins` has the initial pages of the memories, by module. */
  constructor(
    private readonly memory: number,
    private readonly begins: Map<WebAssembly.Module, number>,
  ) {
    this.pages = new WebAssembly.Global({ value: "i64", mutable: true }, BigInt(Math.floor(memory / PAGE)));
  }

  /** Returns the imports of a new instance of a module: it counts here, and its memories are charged. */
  imports(module: WebAssembly.Module): WebAssembly.Imports {
    const begins = BigInt(this.begins.get(module) ?? 0);
    const left = this.pages.value - begins;
    if (left < 0n) throw new Fault("limit", tooMuchMemory((BigInt(Math.floor(this.memory / PAGE)) - left) * BigInt(PAGE), this.memory));
    this.pages.value = left;
    return { [NAME]: { fuel: this.fuel, pages: this.pages, stop: this.stop } };
  }

  /** Starts the count of fuel. */
  begin(fuel: bigint): void {
    this.fuel.value = -fuel;
    this.began = true;
  }

  /** Returns the used part of `fuel`; all of it if the component was not instantiated. */
  used(fuel: bigint): bigint {
    const counted = fuel + this.fuel.value;
    return !this.began || counted > fuel ? fuel : counted;
  }
}
