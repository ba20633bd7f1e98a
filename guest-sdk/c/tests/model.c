/* What the node of the tests does with language models. */
#include "model.h"

#define ASKED(REQUIRED, OPTIONAL)                   \
    REQUIRED(gh_text, model, "")                    \
    OPTIONAL(gh_text, system, "")                   \
    REQUIRED(gh_model_messages, messages, "")       \
    OPTIONAL(gh_model_tools, tools, "")             \
    OPTIONAL(gh_text, choice, "One of the words, or the name of a tool.") \
    OPTIONAL(gh_json, output_schema, "")            \
    OPTIONAL(gh_uint, max_output, "")               \
    OPTIONAL(gh_number, temperature, "")            \
    OPTIONAL(gh_texts, stop, "")
GH_RECORD(asked, ASKED);

static gh_model_choice choice_of(gh_text word)
{
    static const char *const words[] = {"auto", "none", "required"};
    for (int at = 0; at < 3; at++) {
        if (gh_equal(word, words[at])) return (gh_model_choice)at;
    }
    return word.length == 0 ? GH_MODEL_AUTO : GH_MODEL_NAMED;
}

/* Sends a request. A failure is a result with its details. */
bool gh_test_ask(gh_context *ctx, gh_json given, gh_json *result)
{
    asked of;
    gh_model_response answer;
    gh_model_budget left;
    gh_texts names;
    if (!gh_decode(ctx, asked, given, "any", &of)) return false;
    gh_model_request request = {
        .model = of.model,
        .system = of.system,
        .messages = of.messages,
        .tools = of.tools,
        .tool_choice = choice_of(of.choice),
        .named = of.choice,
        .output_schema = of.output_schema,
        .max_output = of.max_output,
        .temperature = of.temperature,
        .has_temperature = of.has_temperature,
        .stop = of.stop,
    };
    *result = gh_object(ctx);
    if (gh_model_complete(ctx, &request, &answer)) {
        gh_put(ctx, *result, "answer", gh_encode(ctx, gh_model_response, &answer));
    } else {
        gh_category category;
        gh_text message;
        if (!gh_failed(ctx, &category, &message) || category != GH_LIMIT) return false;
        gh_put(ctx, *result, "failed", message);
        gh_put(ctx, *result, "details", gh_failure_details(ctx));
    }
    if (!gh_model_remaining(ctx, &left) || !gh_model_names(ctx, &names)) return false;
    gh_put(ctx, *result, "left", gh_encode(ctx, gh_model_budget, &left));
    gh_put(ctx, *result, "models", gh_encode(ctx, gh_texts, &names));
    return true;
}

/* A conversation in which the model calls a tool: what it says in the end, and a file that is sent along. */
bool gh_test_converse(gh_context *ctx, gh_text bytes, gh_json *result)
{
    gh_model_request request = {.model = GH_T("fast"), .max_output = 50};
    gh_model_response answer;
    gh_text text;
    if (!gh_model_say(ctx, &request.messages, GH_MODEL_USER, "What is the weather?") || !gh_model_complete(ctx, &request, &answer)) return false;
    if (!gh_model_add_message(ctx, &request.messages, answer.message)) return false;
    gh_model_message results = {.role = GH_MODEL_USER};
    const gh_model_call *call;
    size_t at = 0;
    while ((call = gh_model_next_call(&answer.message, &at)) != NULL) {
        if (!gh_model_add_result(ctx, &results, call, "no such city", true)) return false;
    }
    if (!gh_model_add_media(ctx, &results, GH_T("image/png"), bytes) || !gh_model_add_message(ctx, &request.messages, results)) return false;
    if (!gh_model_complete(ctx, &request, &answer) || !gh_model_text_of(ctx, &answer.message, &text)) return false;
    const gh_model_media *media = &request.messages.items[2].blocks.items[results.blocks.count - 1].media;
    gh_text again;
    if (!gh_model_bytes_of(ctx, media, &again)) return false;
    *result = gh_array(ctx);
    gh_add(ctx, *result, text);
    gh_add(ctx, *result, media->data);
    gh_add(ctx, *result, (bool)gh_equal(bytes, again));
    return true;
}

bool gh_test_decode(gh_context *ctx, gh_text data, gh_json *result)
{
    gh_model_media media = {GH_T("image/png"), data};
    gh_text bytes;
    if (!gh_model_bytes_of(ctx, &media, &bytes)) return false;
    *result = gh_of(ctx, (uint64_t)bytes.length);
    return true;
}
