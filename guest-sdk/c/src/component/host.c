/* The interfaces of the host, and the clock and random numbers of the run. */
#include "bound.h"

void gh_host_log(gh_context *ctx, gh_level level, gh_text line)
{
    (void)ctx;
    built_string_t string = gh_lent(line);
    /* The levels are in the interface's order. */
    graph_host_host_log_log((graph_host_host_log_level_t)level, &string);
}

bool gh_host_emit(gh_context *ctx, gh_text name, gh_text payload)
{
    (void)ctx;
    built_string_t named = gh_lent(name), written = gh_lent(payload);
    graph_host_host_events_emit(&named, &written);
    return true;
}

bool gh_host_call(gh_context *ctx, gh_text item, gh_text params, gh_text *result)
{
    built_string_t id = gh_lent(item), written = gh_lent(params), given = {0};
    graph_host_host_tools_failure_t failure = {0};
    if (graph_host_host_tools_call(&id, &written, &given, &failure)) return gh_kept(ctx, &given, result);
    gh_json details = NULL;
    gh_text text = {failure.details.is_some ? (const char *)failure.details.val.ptr : "", failure.details.is_some ? failure.details.val.len : 0};
    if (text.length > 0 && !gh_parse_text(ctx, text, &details)) details = NULL;
    int length = failure.message.len > INT32_MAX ? INT32_MAX : (int)failure.message.len;
    gh_fail_with(ctx, (gh_category)failure.category, details, "%.*s", length, (const char *)failure.message.ptr);
    graph_host_host_tools_failure_free(&failure);
    return false;
}

static bool unknown(gh_context *ctx, graph_host_host_knowledge_knowledge_error_t *error)
{
    static const gh_category categories[] = {GH_DENIED, GH_INVALID_INPUT, GH_LIMIT, GH_TRANSIENT};
    gh_category category = error->tag < 4 ? categories[error->tag] : GH_INTERNAL;
    built_string_t *message = &error->val.denied;
    gh_fail(ctx, category, "%.*s", (int)message->len, (const char *)message->ptr);
    graph_host_host_knowledge_knowledge_error_free(error);
    return false;
}

bool gh_knowledge_get_key(gh_context *ctx, gh_text key, gh_text *text, bool *found)
{
    built_string_t of = gh_lent(key);
    built_option_string_t entry = {0};
    graph_host_host_knowledge_knowledge_error_t error = {0};
    if (!gh_check_utf8(ctx, key, "a key")) return false;
    if (!graph_host_host_knowledge_get(&of, &entry, &error)) return unknown(ctx, &error);
    *found = entry.is_some;
    *text = gh_text_at("", 0);
    return !entry.is_some || gh_kept(ctx, &entry.val, text);
}

bool gh_knowledge_put_key(gh_context *ctx, gh_text key, gh_text text)
{
    built_string_t of = gh_lent(key), written = gh_lent(text);
    graph_host_host_knowledge_knowledge_error_t error = {0};
    if (!gh_check_utf8(ctx, key, "a key") || !gh_check_utf8(ctx, text, "an entry")) return false;
    return graph_host_host_knowledge_put(&of, &written, &error) || unknown(ctx, &error);
}

bool gh_knowledge_search_in(gh_context *ctx, gh_text prefix, gh_text query, uint32_t limit, gh_hits *hits)
{
    built_string_t below = gh_lent(prefix), words = gh_lent(query);
    graph_host_host_knowledge_list_hit_t found = {0};
    graph_host_host_knowledge_knowledge_error_t error = {0};
    if (!gh_check_utf8(ctx, prefix, "a prefix") || !gh_check_utf8(ctx, query, "a query")) return false;
    if (!graph_host_host_knowledge_search(&below, &words, limit, &found, &error)) return unknown(ctx, &error);
    hits->items = gh_alloc_array(ctx, found.len, sizeof *hits->items);
    hits->count = hits->items == NULL ? 0 : found.len;
    bool is_copied = hits->items != NULL;
    for (size_t at = 0; at < hits->count && is_copied; at++) {
        is_copied = gh_copy(ctx, found.ptr[at].key.ptr, found.ptr[at].key.len, &hits->items[at].key) &&
                    gh_copy(ctx, found.ptr[at].excerpt.ptr, found.ptr[at].excerpt.len, &hits->items[at].excerpt);
    }
    graph_host_host_knowledge_list_hit_free(&found);
    return is_copied;
}

bool gh_knowledge_list_in(gh_context *ctx, gh_text prefix, gh_text after, uint32_t limit, gh_texts *keys)
{
    built_string_t below = gh_lent(prefix), from = gh_lent(after);
    built_list_string_t found = {0};
    graph_host_host_knowledge_knowledge_error_t error = {0};
    if (!gh_check_utf8(ctx, prefix, "a prefix") || !gh_check_utf8(ctx, after, "a key")) return false;
    if (!graph_host_host_knowledge_list(&below, after.length == 0 ? NULL : &from, limit, &found, &error)) return unknown(ctx, &error);
    return gh_kept_list(ctx, &found, keys);
}

bool gh_secret_named(gh_context *ctx, gh_text name, gh_text *handle)
{
    built_string_t of = gh_lent(name), found = {0};
    graph_host_host_secrets_secret_error_t error = 0;
    if (!gh_check_utf8(ctx, name, "the name of a secret")) return false;
    if (graph_host_host_secrets_handle(&of, &found, &error)) return gh_kept(ctx, &found, handle);
    return gh_fail(ctx, GH_DENIED, "no secret `%s` is granted", name.data);
}

bool gh_secret_names(gh_context *ctx, gh_texts *names)
{
    built_list_string_t found = {0};
    graph_host_host_secrets_names(&found);
    return gh_kept_list(ctx, &found, names);
}

gh_time gh_now(gh_context *ctx)
{
    (void)ctx;
    wasi_clocks_wall_clock_datetime_t now;
    wasi_clocks_wall_clock_now(&now);
    gh_time time = {now.seconds, now.nanoseconds};
    return time;
}

void gh_sleep(gh_context *ctx, uint64_t nanoseconds)
{
    (void)ctx;
    wasi_clocks_monotonic_clock_own_pollable_t passed = wasi_clocks_monotonic_clock_subscribe_duration(nanoseconds);
    wasi_io_poll_method_pollable_block(wasi_io_poll_borrow_pollable(passed));
    wasi_io_poll_pollable_drop_own(passed);
}

bool gh_random(gh_context *ctx, void *bytes, size_t count)
{
    (void)ctx;
    built_list_u8_t drawn = {0};
    wasi_random_random_get_random_bytes(count, &drawn);
    bool is_whole = drawn.len == count;
    if (is_whole && count > 0) memcpy(bytes, drawn.ptr, count);
    built_list_u8_free(&drawn);
    return is_whole || gh_fail(ctx, GH_INTERNAL, "the host gave no random bytes");
}
