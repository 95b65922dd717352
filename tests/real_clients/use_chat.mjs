// Asks one question as `useChat` of React, Vue, Svelte and Angular does, and prints the chat that a page would show.
// Their state is a signal or a store; this one is plain (@ai-sdk/react, src/chat.react.ts).
// Arguments: the package (ai, ai-6 or ai-5), the address of the route, the body as JSON.
const [name, api, body] = process.argv.slice(2);
const { AbstractChat, DefaultChatTransport } = await import(name);

class State {
  status = "ready";
  error = undefined;
  messages = [];
  pushMessage = message => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };
  snapshot = value => structuredClone(value);
}

const texts = []; // what the last text part held, each time that it changed
const toolCalls = []; // that the client was asked to run
const data = [];
class Chat extends AbstractChat {}
const state = new State();
const replaceMessage = state.replaceMessage;
state.replaceMessage = (index, message) => {
  const text = message.parts.findLast(part => part.type === "text")?.text;
  if (text !== undefined && text !== texts.at(-1)) texts.push(text);
  replaceMessage(index, message);
};
const chat = new Chat({
  state,
  generateId: () => "client",
  transport: new DefaultChatTransport({ api, prepareSendMessagesRequest: () => ({ body: JSON.parse(body) }) }),
  onToolCall: ({ toolCall }) => { toolCalls.push(toolCall); },
  onData: part => { data.push(part.type); },
  onError: () => {},
});
await chat.sendMessage({ text: "the question" });
const message = state.messages.findLast(message => message.role === "assistant");
console.log(JSON.stringify({ status: state.status, error: state.error?.message, message, texts, toolCalls, data }));
