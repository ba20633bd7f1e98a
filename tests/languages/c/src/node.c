/* What every SDK offers, one operation at a time. */
#include <graph_host_sdk.h>

#include <string.h>

#define PARAMS(REQUIRED, OPTIONAL)  \
    REQUIRED(gh_text, op, "")       \
    OPTIONAL(gh_json, value, "")
GH_RECORD(params, PARAMS);

typedef bool operation(gh_context *ctx, gh_json value, gh_json *result);

static gh_text text_of(gh_json value)
{
    gh_text text = {"", 0};
    gh_get_text(value, &text);
    return text;
}

static bool echo(gh_context *ctx, gh_json value, gh_json *result)
{
    (void)ctx;
    *result = value;
    return true;
}

static bool activation(gh_context *ctx, gh_json value, gh_json *result)
{
    const gh_activation *of = gh_activation_of(ctx);
    (void)value;
    *result = gh_array(ctx);
    gh_add(ctx, *result, of->graph_id);
    gh_add(ctx, *result, of->node_id);
    gh_add(ctx, *result, of->superstep);
    gh_add(ctx, *result, of->attempt);
    gh_add(ctx, *result, of->visit);
    gh_add(ctx, *result, (bool)(of->idempotency_key.length > 0));
    return true;
}

static bool argument(gh_context *ctx, gh_json value, gh_json *result)
{
    (void)value;
    return gh_argument(ctx, result);
}

static bool ask(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_json first, second, question = gh_object(ctx);
    gh_text why;
    (void)value;
    gh_put(ctx, question, "question", "Which one?");
    if (!gh_ask(ctx, question, &first)) return false;
    if (!gh_format(ctx, &why, "Why %s?", text_of(first).data)) return false;
    question = gh_object(ctx);
    gh_put(ctx, question, "question", why);
    if (!gh_ask(ctx, question, &second)) return false;
    *result = gh_object(ctx);
    gh_put(ctx, *result, "first", first);
    gh_put(ctx, *result, "second", second);
    return true;
}

static bool command(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_json argument = gh_object(ctx);
    (void)result;
    gh_put(ctx, argument, "n", 1);
    return gh_write(ctx, "written", value) && gh_goto(ctx, "after") && gh_send(ctx, "sent", argument);
}

static bool write_log(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_json payload = gh_object(ctx);
    (void)result;
    gh_log(ctx, GH_INFO, "value %s", text_of(value).data);
    gh_put(ctx, payload, "value", value);
    return gh_emit(ctx, "seen", payload);
}

static bool clocks(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_time before = gh_now(ctx);
    (void)value;
    gh_sleep(ctx, UINT64_C(1500000000));
    gh_time after = gh_now(ctx);
    int64_t nanoseconds = (int64_t)(after.seconds - before.seconds) * 1000000000 + (int64_t)after.nanoseconds - (int64_t)before.nanoseconds;
    *result = gh_array(ctx);
    gh_add(ctx, *result, nanoseconds / 1000000);
    gh_add(ctx, *result, (bool)(before.seconds > 1767225600));
    gh_add(ctx, *result, nanoseconds / 1000000);
    return true;
}

static bool random_bytes(gh_context *ctx, gh_json value, gh_json *result)
{
    uint64_t count = 0;
    gh_get_uint(value, &count);
    if (count > 1024 * 1024) return gh_fail(ctx, GH_INVALID_INPUT, "so many bytes are not drawn at once");
    unsigned char *bytes = gh_alloc(ctx, (size_t)count);
    if (bytes == NULL || !gh_random(ctx, bytes, (size_t)count)) return false;
    *result = gh_array(ctx);
    for (uint64_t at = 0; at < count; at++) gh_add(ctx, *result, bytes[at]);
    return true;
}

static const char *const kinds[] = {"file", "folder", "link", "other"};

static bool use_files(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_stat stat;
    gh_entries entries;
    gh_text content;
    if (!gh_file_write(ctx, "/data/note.txt", text_of(value)) || !gh_file_stat(ctx, "/data/note.txt", &stat) ||
        !gh_folder_list(ctx, "/data", &entries) || !gh_file_read_text(ctx, "/data/note.txt", &content))
        return false;
    gh_json found = gh_object(ctx), names = gh_array(ctx);
    gh_put(ctx, found, "kind", kinds[stat.kind]);
    gh_put(ctx, found, "size", stat.size);
    for (size_t at = 0; at < entries.count; at++) {
        gh_json entry = gh_object(ctx);
        gh_put(ctx, entry, "name", entries.items[at].name);
        gh_put(ctx, entry, "kind", kinds[entries.items[at].kind]);
        gh_add(ctx, names, entry);
    }
    *result = gh_array(ctx);
    gh_add(ctx, *result, content);
    gh_add(ctx, *result, found);
    gh_add(ctx, *result, names);
    return true;
}

static bool knowledge(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_text one, two;
    gh_texts keys;
    gh_hits hits;
    bool has_one, has_two;
    if (!gh_knowledge_put(ctx, "notes/one", text_of(value)) || !gh_knowledge_search(ctx, "notes/", text_of(value), 100, &hits) ||
        !gh_knowledge_get(ctx, "notes/one", &one, &has_one) || !gh_knowledge_get(ctx, "notes/two", &two, &has_two) ||
        !gh_knowledge_list(ctx, "notes/", "", 1000, &keys))
        return false;
    gh_json found = gh_array(ctx);
    for (size_t at = 0; at < hits.count; at++) gh_add(ctx, found, hits.items[at].key);
    *result = gh_array(ctx);
    gh_add(ctx, *result, has_one ? gh_of(ctx, one) : NULL);
    gh_add(ctx, *result, has_two ? gh_of(ctx, two) : NULL);
    gh_add(ctx, *result, gh_encode(ctx, gh_texts, &keys));
    gh_add(ctx, *result, found);
    return true;
}

static bool request(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_text handle, authorization, body;
    gh_response response;
    if (!gh_secret(ctx, "TOKEN", &handle) || !gh_format(ctx, &authorization, "Bearer %s", handle.data)) return false;
    char *bytes = gh_alloc(ctx, 10000);
    if (bytes == NULL) return false;
    for (size_t at = 0; at < 10000; at += 2) memcpy(bytes + at, "ü", 2);
    body = (gh_text){bytes, 10000};
    gh_header headers[] = {{GH_T("authorization"), authorization}, {GH_T("x-note"), GH_T("ä")}};
    gh_request asked = {.method = GH_T("POST"), .url = text_of(value), .headers = headers, .header_count = 2, .body = body};
    if (!gh_http_send(ctx, &asked, &response)) return false;
    gh_text none = gh_response_header(&response, "x-none");
    *result = gh_array(ctx);
    gh_add(ctx, *result, response.status);
    gh_add(ctx, *result, gh_response_header(&response, "x-seen"));
    gh_add(ctx, *result, none.length > 0 ? gh_of(ctx, none) : NULL);
    gh_add(ctx, *result, response.body);
    return true;
}

static bool get(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_response response;
    if (!gh_http_get(ctx, text_of(value), &response)) return false;
    *result = gh_array(ctx);
    gh_add(ctx, *result, response.status);
    gh_add(ctx, *result, response.body);
    return true;
}

static bool use_secrets(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_texts names;
    gh_text handle;
    if (!gh_secret_names(ctx, &names) || !gh_secret(ctx, text_of(value), &handle)) return false;
    *result = gh_array(ctx);
    gh_add(ctx, *result, gh_encode(ctx, gh_texts, &names));
    gh_add(ctx, *result, handle);
    return true;
}

static bool tool(gh_context *ctx, gh_json value, gh_json *result)
{
    gh_json given = gh_object(ctx);
    gh_put(ctx, given, "op", "echo");
    gh_put(ctx, given, "value", value);
    return gh_tool_call(ctx, "me/node", given, result);
}

static bool fail(gh_context *ctx, gh_json value, gh_json *result)
{
    static const char *const categories[] = {"transient",     "rate-limited", "timeout", "permanent",
                                             "invalid-input", "denied",       "limit"};
    gh_category category = GH_INTERNAL;
    gh_json details = gh_object(ctx);
    (void)result;
    for (int at = 0; at < GH_INTERNAL; at++) {
        if (gh_equal(text_of(value), categories[at])) category = (gh_category)at;
    }
    gh_put(ctx, details, "value", value);
    return gh_fail_with(ctx, category, details, "a failure of category %s", text_of(value).data);
}

static bool read_text(gh_context *ctx, const char *path, gh_json *result)
{
    gh_text content;
    if (!gh_file_read_text(ctx, path, &content)) return false;
    *result = gh_of(ctx, content);
    return true;
}

static bool missing(gh_context *ctx, gh_json value, gh_json *result)
{
    (void)value;
    return read_text(ctx, "/data/missing.txt", result);
}

static bool outside(gh_context *ctx, gh_json value, gh_json *result)
{
    (void)value;
    return read_text(ctx, "/elsewhere/x.txt", result);
}

static bool forbidden(gh_context *ctx, gh_json value, gh_json *result)
{
    (void)value;
    return gh_tool_call(ctx, "me/other", gh_object(ctx), result);
}

static const struct {
    const char *op;
    operation *perform;
} operations[] = {
    {"echo", echo},           {"activation", activation}, {"argument", argument}, {"ask", ask},         {"command", command},
    {"log", write_log},       {"clock", clocks},          {"random", random_bytes}, {"files", use_files}, {"knowledge", knowledge},
    {"request", request},     {"get", get},             {"secrets", use_secrets},
    {"tool", tool},           {"fail", fail},             {"missing", missing},   {"outside", outside}, {"forbidden", forbidden},
};

static bool run(gh_context *ctx, const params *given, gh_json *result)
{
    for (size_t at = 0; at < sizeof operations / sizeof operations[0]; at++) {
        if (gh_equal(given->op, operations[at].op)) return operations[at].perform(ctx, given->value, result);
    }
    return gh_fail(ctx, GH_INVALID_INPUT, "unknown operation %s", given->op.data);
}

GH_NODE(params, gh_json, run,
        .summary = "Performs one operation of an SDK.",
        .wants = GH_WANTS({"wasi:clocks/wall-clock", "reads the time"},
                          {"wasi:random/random", "draws numbers"},
                          {"wasi:filesystem/types", "reads and writes notes"},
                          {"wasi:http/outgoing-handler", "asks a server"},
                          {"graph-host:host/secrets", "says who asks"},
                          {"graph-host:host/knowledge", "keeps notes"},
                          {"graph-host:host/tools", "calls itself"}));
