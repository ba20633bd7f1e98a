// What all core modules of a component count with, in one call: `host/docs/design/fuel.md`.

import { Fault, tooMuchMemory } from "./fault";

const PAGE = 65536;
/** The module that core modules import it from. */
const NAME = "graph-host:meter";

/** Whether a core module counts its fuel. */
export const counts = (module: WebAssembly.Module): boolean => WebAssembly.Module.imports(module).some(({ module: from }) => from === NAME);

export class Meter {
  /** Counted up to 0. Instantiating is not limited. */
  readonly fuel = new WebAssembly.Global({ value: "i64", mutable: true }, -(2n ** 63n));
  /** How many pages the memories may still grow by, all together. */
  readonly pages: WebAssembly.Global<"i64">;
  readonly stop = new WebAssembly.Global({ value: "i32", mutable: true }, 0);
  private began = false;

  /** `begins` has the pages that the memories of a module begin with. */
  constructor(
    private readonly memory: number,
    private readonly begins: Map<WebAssembly.Module, number>,
  ) {
    this.pages = new WebAssembly.Global({ value: "i64", mutable: true }, BigInt(Math.floor(memory / PAGE)));
  }

  /** What an instance of a module that is about to be made imports: it counts here, and so do its memories. */
  imports(module: WebAssembly.Module): WebAssembly.Imports {
    const begins = BigInt(this.begins.get(module) ?? 0);
    const left = this.pages.value - begins;
    if (left < 0n) throw new Fault("limit", tooMuchMemory((BigInt(Math.floor(this.memory / PAGE)) - left) * BigInt(PAGE), this.memory));
    this.pages.value = left;
    return { [NAME]: { fuel: this.fuel, pages: this.pages, stop: this.stop } };
  }

  /** From here on, fuel counts. */
  begin(fuel: bigint): void {
    this.fuel.value = -fuel;
    this.began = true;
  }

  /** What was used of so much fuel; all of it where the component was not instantiated. */
  used(fuel: bigint): bigint {
    const counted = fuel + this.fuel.value;
    return !this.began || counted > fuel ? fuel : counted;
  }
}
