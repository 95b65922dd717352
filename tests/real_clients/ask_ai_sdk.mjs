// Asks with a provider of the AI SDK. The arguments are the provider's package and the task, the output is what the user
// sees, as JSON.
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, streamText } from "ai";

const [name, argument] = process.argv.slice(2);
const task = JSON.parse(argument);
const options = { baseURL: task.base_url, apiKey: task.api_key };
const connect = {
  "@ai-sdk/openai": () => createOpenAI(options).chat,
  "@ai-sdk/openai-compatible": () => createOpenAICompatible({ name: "gleaner", includeUsage: true, ...options }),
}[name]();

const show = ({ text, sources, usage, finishReason }) => ({
  text,
  sources: sources.map(({ url, title }) => ({ url, title })),
  usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
  finish_reason: finishReason,
});

// By default the SDK asks again twice after an error of the service, and each time the question is paid for.
const settings = (model = task.model) => ({ model: connect(model), maxRetries: 0 });

const ask = async (prompt, model) => show(await generateText({ ...settings(model), ...prompt }));

async function stream(prompt) {
  const errors = [];
  const result = streamText({ ...settings(), ...prompt, onError: ({ error }) => { errors.push(error); } });
  const pieces = [];
  for await (const piece of result.textStream) pieces.push(piece);
  if (errors.length) throw errors[0];
  const [text, sources, usage, finishReason] =
    await Promise.all([result.text, result.sources, result.usage, result.finishReason]);
  return { pieces, ...show({ text, sources, usage, finishReason }) };
}

async function failure(call, ...rest) {
  try {
    await call(...rest);
  } catch (error) {
    const { name, statusCode, code, message, data } = error;
    return { error: name, status: statusCode ?? null, code: code ?? data?.error?.code ?? data?.code, message };
  }
  throw new Error("The question did not fail.");
}

const first = { role: "user", content: task.question };
const asked = await ask({ prompt: task.question });
const history = [first, { role: "assistant", content: asked.text }, { role: "user", content: task.follow_up }];
console.log(JSON.stringify({
  asked,
  streamed: await stream({ prompt: task.question }),
  followed_up: await ask({ messages: history }),
  unknown_model: await failure(ask, { prompt: task.question }, "no-such-model"),
  empty: await failure(ask, { prompt: "" }),
  failed: await failure(ask, { prompt: task.failing }),
  failed_stream: await failure(stream, { prompt: task.failing }),
}));
