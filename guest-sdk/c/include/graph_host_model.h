/* Answers of language models that the manifest names. Needs `graph-host:host/model` in `wants`.
 *
 *     gh_model_request request = {.model = GH_T("fast"), .system = GH_T("Answer with a title of at most six words."), .max_output = 50};
 *     gh_model_response answer;
 *     if (!gh_model_say(ctx, &request.messages, GH_MODEL_USER, given->text) || !gh_model_complete(ctx, &request, &answer)) return false;
 *     return gh_model_text_of(ctx, &answer.message, title);
 *
 * Messages, tools, answers and what is left of a budget are types as `GH_RECORD` makes them: fields of params and of results, and JSON with
 * `gh_decode` and `gh_encode`. A conversation has the same JSON in every language, so that a graph keeps it in a channel:
 * `{"role": "user", "blocks": [{"text": "..."}]}`.
 *
 * What a request refers to has to last until `gh_model_complete` returns; the answer, and whatever these functions make, is memory of the call.
 */
#ifndef GRAPH_HOST_MODEL_H
#define GRAPH_HOST_MODEL_H

#include "graph_host_sdk.h"

/* Who a message is from. Results of tools are the user's. */
#define GH_MODEL_ROLES(CHOICE) CHOICE(GH_MODEL_USER, "user") CHOICE(GH_MODEL_ASSISTANT, "assistant")
GH_CHOICE(gh_model_role, GH_MODEL_ROLES);

/* A call of a tool that a model asks for. A model can name a tool that does not exist, and arguments that do not fit its schema. */
#define GH_MODEL_CALL(REQUIRED, OPTIONAL)                                \
    REQUIRED(gh_text, id, "The provider's id of the call.")              \
    REQUIRED(gh_text, name, "The name of one of the request's tools.")   \
    REQUIRED(gh_json, arguments, "An object; a string with what the model has written, if that is none.")
GH_RECORD(gh_model_call, GH_MODEL_CALL);

/* The result of a tool call, in the message after it. */
#define GH_MODEL_RESULT(REQUIRED, OPTIONAL)                                          \
    REQUIRED(gh_text, id, "The id of the call.")                                     \
    REQUIRED(gh_text, content, "What the tool has returned, as text for the model.") \
    OPTIONAL(gh_bool, failed, "The tool has failed; `content` says why.")
GH_RECORD(gh_model_result, GH_MODEL_RESULT);

/* An image or another file: `gh_model_add_media` makes one of bytes. */
#define GH_MODEL_MEDIA(REQUIRED, OPTIONAL)                 \
    REQUIRED(gh_text, media_type, "Its type, as `image/png`.") \
    REQUIRED(gh_text, data, "Its bytes, as Base64 text.")
GH_RECORD(gh_model_media, GH_MODEL_MEDIA);

/* A part of a message: exactly one of these is there. */
#define GH_MODEL_BLOCK(REQUIRED, OPTIONAL)                                                                                       \
    OPTIONAL(gh_text, text, "Text, not empty.")                                                                                  \
    OPTIONAL(gh_json, reasoning, "What the model has thought, in the form of its provider; only from the assistant, and sent back unchanged.") \
    OPTIONAL(gh_model_call, tool_call, "A call of a tool; only from the assistant.")                                             \
    OPTIONAL(gh_model_result, tool_result, "A result of a tool; only from the user.")                                            \
    OPTIONAL(gh_model_media, media, "A file; only from the user.")
GH_RECORD(gh_model_block, GH_MODEL_BLOCK);
GH_LIST(gh_model_blocks, gh_model_block);

/* A message of a conversation. A model can answer with no blocks. */
#define GH_MODEL_MESSAGE(REQUIRED, OPTIONAL)      \
    REQUIRED(gh_model_role, role, "Who it is from.") \
    REQUIRED(gh_model_blocks, blocks, "Its parts, in order.")
GH_RECORD(gh_model_message, GH_MODEL_MESSAGE);
GH_LIST(gh_model_messages, gh_model_message);

/* A tool that the model may ask for. */
#define GH_MODEL_TOOL(REQUIRED, OPTIONAL)                                                \
    REQUIRED(gh_text, name, "Letters, digits, `_` and `-`, at most 64 bytes.")           \
    OPTIONAL(gh_text, description, "What it is for.")                                    \
    REQUIRED(gh_json, parameters, "The JSON Schema of its arguments, an object.")
GH_RECORD(gh_model_tool, GH_MODEL_TOOL);
GH_LIST(gh_model_tools, gh_model_tool);

/* Which tools the model may ask for: any or none, none, at least one, or the named one. */
typedef enum gh_model_choice { GH_MODEL_AUTO, GH_MODEL_NONE, GH_MODEL_REQUIRED, GH_MODEL_NAMED } gh_model_choice;

/* A request of a completion. What is zero is not set. */
typedef struct gh_model_request {
    /* The name of the model in the manifest. */
    gh_text model;
    /* Instructions that precede the conversation. */
    gh_text system;
    /* The conversation; the last message is the user's. */
    gh_model_messages messages;
    gh_model_tools tools;
    /* Without meaning if there are no tools. */
    gh_model_choice tool_choice;
    /* The tool of `GH_MODEL_NAMED`. */
    gh_text named;
    /* The JSON Schema that the answer's text has to fit. */
    gh_json output_schema;
    /* The most tokens of an answer; the manifest's bound of the model holds, too. */
    uint64_t max_output;
    /* From 0 to 2; the provider's default unless `has_temperature`. */
    double temperature;
    bool has_temperature;
    /* Texts at which the model stops, at most four. */
    gh_texts stop;
} gh_model_request;

/* Why an answer ends. */
#define GH_MODEL_STOPS(CHOICE)                   \
    CHOICE(GH_MODEL_END, "end")                  \
    CHOICE(GH_MODEL_TOOL_CALLS, "tool_calls")    \
    CHOICE(GH_MODEL_MAX_OUTPUT, "max_output")    \
    CHOICE(GH_MODEL_STOP_TEXT, "stop_text")      \
    CHOICE(GH_MODEL_REFUSED, "refused")
GH_CHOICE(gh_model_stop, GH_MODEL_STOPS);

/* What a call has used. */
#define GH_MODEL_USAGE(REQUIRED, OPTIONAL)                                                        \
    REQUIRED(gh_uint, input, "Tokens of the request, those from a cache included.")               \
    REQUIRED(gh_uint, output, "Tokens of the answer, those of its reasoning included.")           \
    REQUIRED(gh_uint, cached, "Tokens of the request that the provider has read from a cache.")   \
    REQUIRED(gh_uint, reasoning, "Tokens of the answer that are reasoning.")                      \
    REQUIRED(gh_uint, cost, "The cost by the manifest's prices, in millionths of its currency.")
GH_RECORD(gh_model_usage, GH_MODEL_USAGE);

/* An answer. */
#define GH_MODEL_RESPONSE(REQUIRED, OPTIONAL)                        \
    REQUIRED(gh_model_message, message, "The assistant's message.")  \
    REQUIRED(gh_model_stop, stop, "Why it ends.")                    \
    REQUIRED(gh_model_usage, usage, "What it has used.")
GH_RECORD(gh_model_response, GH_MODEL_RESPONSE);

/* What is left of a task's budget. A figure that is not there has no limit. */
#define GH_MODEL_BUDGET(REQUIRED, OPTIONAL)           \
    OPTIONAL(gh_uint, calls, "Calls.")                \
    OPTIONAL(gh_uint, input, "Tokens of requests.")   \
    OPTIONAL(gh_uint, output, "Tokens of answers.")   \
    OPTIONAL(gh_uint, cost, "Millionths of the manifest's currency.")
GH_RECORD(gh_model_budget, GH_MODEL_BUDGET);

/* Asks a model, and gives its whole answer. Each call costs what the manifest says and draws on its budget.
 *
 * Failures: `GH_DENIED` for a model that is not granted, `GH_INVALID_INPUT` for a request that breaks a rule of `graph-host:host/model` or
 * that the provider rejects, `GH_LIMIT` if the budget does not suffice, `GH_RATE_LIMITED`, `GH_TIMEOUT` and `GH_TRANSIENT` for what may work
 * later, `GH_PERMANENT` for the rest. `gh_failure_details` has their details. */
bool gh_model_complete(gh_context *ctx, const gh_model_request *request, gh_model_response *response);
/* The names of the models that the node may ask, in the manifest's order. */
bool gh_model_names(gh_context *ctx, gh_texts *names);
/* What is left of the task's budget. */
bool gh_model_remaining(gh_context *ctx, gh_model_budget *budget);

/* These add to the end of a conversation or of a message. The list is copied, and what it refers to is not. */
bool gh_model_add_message(gh_context *ctx, gh_model_messages *to, gh_model_message message);
bool gh_model_add_block(gh_context *ctx, gh_model_message *to, gh_model_block block);
/* A message with one text. */
bool gh_model_say_text(gh_context *ctx, gh_model_messages *to, gh_model_role role, gh_text text);
#define gh_model_say(ctx, to, role, text) gh_model_say_text(ctx, to, role, GH_T(text))
/* The result of a call: `gh_model_message results = {.role = GH_MODEL_USER}` is the message that all results of an answer belong to. */
bool gh_model_add_result_text(gh_context *ctx, gh_model_message *to, const gh_model_call *call, gh_text content, bool failed);
#define gh_model_add_result(ctx, to, call, content, failed) gh_model_add_result_text(ctx, to, call, GH_T(content), failed)
/* A file of bytes. */
bool gh_model_add_media(gh_context *ctx, gh_model_message *to, gh_text media_type, gh_text bytes);

/* The texts of a message, joined without a separator. */
bool gh_model_text_of(gh_context *ctx, const gh_model_message *message, gh_text *text);
/* Goes through the calls of tools that a message asks for; NULL behind the last:
 *
 *     size_t at = 0;
 *     const gh_model_call *call;
 *     while ((call = gh_model_next_call(&answer.message, &at)) != NULL) ... */
const gh_model_call *gh_model_next_call(const gh_model_message *message, size_t *at);
/* The bytes of a file; a failure of category `GH_INVALID_INPUT` if its data is no Base64 text. */
bool gh_model_bytes_of(gh_context *ctx, const gh_model_media *media, gh_text *bytes);

#endif
