let open = 0;

/** How many things of the host are open. */
export const opened = () => open;

/** Something of the host that a node has to close: a host lets it hold only so many at once. */
export class Disposable {
  constructor() {
    open += 1;
  }

  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() {
    open -= 1;
  }
}
