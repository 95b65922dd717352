// Asks with the openai package, as its README shows. The argument is the task, the output what its user sees, as JSON.
import OpenAI from "openai";

const task = JSON.parse(process.argv[2]);
const client = new OpenAI({ baseURL: task.base_url, apiKey: task.api_key });

const question = content => ({ role: "user", content });
const sources = annotations => (annotations ?? []).map(annotation => annotation.url_citation);

async function ask(messages, model = task.model) {
  const completion = await client.chat.completions.create({ model, messages });
  const { message, finish_reason } = completion.choices[0];
  const { usage, gleaner } = completion;
  return { text: message.content, sources: sources(message.annotations), finish_reason, usage, gleaner };
}

async function stream(messages) {
  const shown = { pieces: [], sources: [] };
  const chunks = await client.chat.completions.create({
    model: task.model, messages, stream: true, stream_options: { include_usage: true },
  });
  for await (const chunk of chunks) {
    const choice = chunk.choices[0];
    if (choice?.delta.content) shown.pieces.push(choice.delta.content);
    shown.sources.push(...sources(choice?.delta.annotations));
    shown.finish_reason = choice?.finish_reason ?? shown.finish_reason;
    shown.usage = chunk.usage ?? shown.usage;
    shown.gleaner = chunk.gleaner ?? shown.gleaner;
  }
  return { ...shown, text: shown.pieces.join("") };
}

// The package's helper, which puts the chunks together itself and is stricter about them.
async function accumulate(messages) {
  const pieces = [];
  const runner = client.chat.completions.stream({ model: task.model, messages });
  runner.on("content", delta => { pieces.push(delta); });
  const completion = await runner.finalChatCompletion();
  return { pieces, text: completion.choices[0].message.content };
}

async function failure(call, ...rest) {
  try {
    await call(...rest);
  } catch (error) {
    const { status, code, message } = error;
    return { error: error.constructor.name, status: status ?? null, code, message };
  }
  throw new Error("The question did not fail.");
}

const models = [];
for await (const model of client.models.list()) models.push(model.id);
const first = question(task.question);
const asked = await ask([first]);
const history = [first, { role: "assistant", content: asked.text }, question(task.follow_up)];
console.log(JSON.stringify({
  models,
  asked,
  streamed: await stream([first]),
  accumulated: await accumulate([first]),
  followed_up: await ask(history),
  unknown_model: await failure(ask, [first], "no-such-model"),
  empty: await failure(ask, [question("")]),
  failed: await failure(ask, [question(task.failing)]),
  failed_stream: await failure(stream, [question(task.failing)]),
}));
