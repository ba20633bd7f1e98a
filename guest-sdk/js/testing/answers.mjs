const NOTHING = { input: 0, output: 0, cached: 0, reasoning: 0, cost: 0 };

/** An answer of a language model with one text. */
export function answer(text, { usage = {}, stop = 'end' } = {}) {
  return { message: { role: 'assistant', blocks: [{ text }] }, stop, usage: { ...NOTHING, ...usage } };
}

/** An answer of a language model that asks for tools, each by its name and its arguments. */
export function calling(...calls) {
  const blocks = calls.map(([name, given], index) => ({ tool_call: { id: `call-${index + 1}`, name, arguments: given } }));
  return { message: { role: 'assistant', blocks }, stop: 'tool_calls', usage: { ...NOTHING } };
}
