/* The conversation of `../guest`, in C. */
#include <graph_host_model.h>

#define TURN(REQUIRED, OPTIONAL)          \
    REQUIRED(gh_text, name, "")           \
    REQUIRED(gh_model_blocks, user, "")   \
    OPTIONAL(gh_json, request, "Fields of the request other than the messages.")
GH_RECORD(turn, TURN);
GH_LIST(turns, turn);

#define PARAMS(REQUIRED, OPTIONAL)        \
    REQUIRED(gh_text, op, "")             \
    REQUIRED(gh_text, model, "")          \
    OPTIONAL(gh_text, system, "")         \
    OPTIONAL(gh_model_tools, tools, "")   \
    OPTIONAL(turns, turns, "")
GH_RECORD(params, PARAMS);

static void choose(gh_model_request *request, gh_json choice)
{
    gh_text word = {"", 0};
    if (gh_get_text(gh_member(choice, "named"), &request->named)) request->tool_choice = GH_MODEL_NAMED;
    gh_get_text(choice, &word);
    if (gh_equal(word, "none")) request->tool_choice = GH_MODEL_NONE;
    if (gh_equal(word, "required")) request->tool_choice = GH_MODEL_REQUIRED;
}

/* A failure as a value. */
static gh_json told(gh_context *ctx)
{
    static const char *const categories[] = {"transient",     "rate-limited", "timeout", "permanent",
                                             "invalid-input", "denied",       "limit",   "internal"};
    gh_category category = GH_INTERNAL;
    gh_text message = {"", 0};
    gh_json failed = gh_object(ctx);
    gh_failed(ctx, &category, &message);
    gh_put(ctx, failed, "category", categories[category]);
    gh_put(ctx, failed, "message", message);
    gh_put(ctx, failed, "details", gh_failure_details(ctx));
    return failed;
}

static bool add_answer(gh_context *ctx, gh_json to, const gh_model_response *answer)
{
    gh_json blocks = gh_array(ctx);
    for (size_t at = 0; at < answer->message.blocks.count; at++) {
        const gh_model_block *block = &answer->message.blocks.items[at];
        if (!block->has_reasoning) gh_add(ctx, blocks, gh_encode(ctx, gh_model_block, block));
    }
    gh_json whole = gh_encode(ctx, gh_model_response, answer);
    gh_put(ctx, to, "blocks", blocks);
    gh_put(ctx, to, "stop", gh_member(whole, "stop"));
    gh_put(ctx, to, "usage", gh_member(whole, "usage"));
    return true;
}

static bool converse(gh_context *ctx, const params *given, gh_json *result)
{
    gh_model_messages history = {NULL, 0};
    gh_json transcript = gh_array(ctx);
    for (size_t at = 0; at < given->turns.count; at++) {
        const turn *of = &given->turns.items[at];
        gh_model_request request = {.model = given->model, .system = given->system, .tools = given->tools};
        gh_model_response answer;
        gh_json said = gh_object(ctx);
        gh_model_message user = {GH_MODEL_USER, of->user};
        if (!gh_model_add_message(ctx, &history, user)) return false;
        request.messages = history;
        choose(&request, gh_member(of->request, "tool_choice"));
        request.output_schema = gh_member(of->request, "output_schema");
        gh_get_uint(gh_member(of->request, "max_output"), &request.max_output);
        request.has_temperature = gh_get_number(gh_member(of->request, "temperature"), &request.temperature);
        gh_put(ctx, said, "turn", of->name);
        if (gh_model_complete(ctx, &request, &answer)) {
            if (!add_answer(ctx, said, &answer) || !gh_model_add_message(ctx, &history, answer.message)) return false;
        } else {
            history.count--;
            gh_put(ctx, said, "failed", told(ctx));
        }
        gh_add(ctx, transcript, said);
    }
    *result = gh_object(ctx);
    gh_put(ctx, *result, "transcript", transcript);
    return true;
}

static bool run(gh_context *ctx, const params *given, gh_json *result)
{
    gh_model_budget left;
    gh_texts names;
    if (!gh_equal(given->op, "left")) return converse(ctx, given, result);
    if (!gh_model_names(ctx, &names) || !gh_model_remaining(ctx, &left)) return false;
    *result = gh_object(ctx);
    gh_put(ctx, *result, "models", gh_encode(ctx, gh_texts, &names));
    gh_put(ctx, *result, "left", gh_encode(ctx, gh_model_budget, &left));
    return true;
}

GH_NODE(params, gh_json, run, .summary = "Asks language models.", .wants = GH_WANTS({"graph-host:host/model", "asks them"}));
