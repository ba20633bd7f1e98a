import { stringify } from './json.js';
import type { WitCommand } from './wit.js';

/** Direct writes and routing, within what the graph's node entry allows. */
export class Command {
  #update: Record<string, unknown> = {};
  #goto: { node: string; argument?: unknown }[] = [];

  /** Writes a value to a channel. */
  write(channel: string, value: unknown): this {
    this.#update[channel] = value;
    return this;
  }

  /** Goes to a node. */
  goto(node: string): this {
    this.#goto.push({ node });
    return this;
  }

  /** Makes a task of its own for a node, with an argument. */
  send(node: string, argument: unknown): this {
    this.#goto.push({ node, argument });
    return this;
  }

  /** What is written, by channel. */
  get update(): Record<string, unknown> {
    return { ...this.#update };
  }

  /** The nodes to go to, each with its argument if it is a send. */
  get targets(): readonly { node: string; argument?: unknown }[] {
    return [...this.#goto];
  }

  /** @internal */
  toWit(): WitCommand {
    return {
      update: stringify(this.#update),
      goto: this.#goto.map(target => ({
        node: target.node,
        argument: 'argument' in target ? stringify(target.argument) : null,
      })),
    };
  }
}
