/* The host of plain values. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "double.h"

gh_test *gh_test_current;
static size_t allocations, checks, failures;

void *gh_test_checked(void *memory)
{
    if (memory == NULL) {
        fputs("the test ran out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

static char *copied(const char *data, size_t length)
{
    char *copy = gh_test_checked(malloc(length + 1));
    if (length > 0) memcpy(copy, data, length);
    copy[length] = 0;
    return copy;
}

struct entry *gh_test_found(const table *in, gh_text name)
{
    for (size_t at = 0; at < in->count; at++) {
        if (gh_equal(name, in->entries[at].name)) return &in->entries[at];
    }
    return NULL;
}

struct entry *gh_test_added(table *to, gh_text name, gh_text text)
{
    to->entries = gh_test_checked(realloc(to->entries, (to->count + 1) * sizeof *to->entries));
    struct entry *entry = &to->entries[to->count++];
    *entry = (struct entry){copied(name.data, name.length), copied(text.data, text.length), text.length, NULL};
    return entry;
}

struct entry *gh_test_set(table *in, gh_text name, gh_text text)
{
    struct entry *entry = gh_test_found(in, name);
    if (entry == NULL) return gh_test_added(in, name, text);
    free(entry->text);
    entry->text = copied(text.data, text.length);
    entry->length = text.length;
    return entry;
}

static void emptied(table *of)
{
    for (size_t at = 0; at < of->count; at++) {
        free(of->entries[at].name);
        free(of->entries[at].text);
    }
    free(of->entries);
}

static const char *kept(gh_test *host, gh_text text)
{
    return gh_test_added(&host->kept, GH_T(""), gh_text_of_text(text))->text;
}

gh_test *gh_test_new(void)
{
    gh_test *host = gh_test_checked(calloc(1, sizeof *host));
    gh_text empty = GH_T("");
    host->activation = (gh_activation){empty, empty, empty, empty, empty, 1, GH_T("1.0"), 1, 1, empty, {NULL, 0}, empty};
    host->random = 1;
    return host;
}

void gh_test_free(gh_test *host)
{
    table *tables[] = {&host->files,  &host->granted, &host->folders, &host->knowledge, &host->secrets, &host->items, &host->lines, &host->records, &host->kept,
                       &host->models, &host->model_answers, &host->model_requests};
    for (size_t at = 0; at < sizeof tables / sizeof tables[0]; at++) emptied(tables[at]);
    free(host->activation.answers.items);
    free(host);
}

void gh_test_file(gh_test *host, const char *path, const char *content)
{
    gh_test_set(&host->files, GH_T(path), GH_T(content));
}

void gh_test_folder(gh_test *host, const char *path)
{
    gh_test_set(&host->granted, GH_T(path), GH_T(""));
}

void gh_test_knowledge(gh_test *host, const char *key, const char *text)
{
    gh_test_set(&host->knowledge, GH_T(key), GH_T(text));
}

void gh_test_secret(gh_test *host, const char *name, const char *handle)
{
    gh_test_set(&host->secrets, GH_T(name), GH_T(handle));
}

void gh_test_time(gh_test *host, uint64_t seconds, uint32_t nanoseconds)
{
    host->time = (gh_time){seconds, nanoseconds};
}

void gh_test_seed(gh_test *host, uint64_t seed)
{
    host->random = seed * 2 + 1;
}

void gh_test_answer(gh_test *host, const char *json)
{
    gh_texts *answers = &host->activation.answers;
    answers->items = gh_test_checked(realloc(answers->items, (answers->count + 1) * sizeof *answers->items));
    answers->items[answers->count++] = GH_T(kept(host, GH_T(json)));
}

void gh_test_argument(gh_test *host, const char *json)
{
    host->activation.argument = GH_T(kept(host, GH_T(json)));
}

gh_activation *gh_test_activation(gh_test *host)
{
    return &host->activation;
}

void gh_test_item(gh_test *host, const char *id, gh_test_perform *perform)
{
    gh_test_set(&host->items, GH_T(id), GH_T(""))->perform = perform;
}

void gh_test_server(gh_test *host, gh_test_serve *serve)
{
    host->serve = serve;
}

static void *failing(size_t size)
{
    if (allocations == 1) return NULL;
    allocations--;
    return malloc(size);
}

void gh_test_fail_allocation(size_t number)
{
    allocations = number;
    gh_allocate = number == 0 ? malloc : failing;
}

gh_test_outcome gh_test_call(gh_test *host, const char *params)
{
    static const gh_test_kind kinds[] = {GH_TEST_RESULT, GH_TEST_COMMAND, GH_TEST_QUESTION, GH_TEST_FAILURE};
    gh_test *before = gh_test_current;
    gh_context ctx;
    gh_test_current = host;
    gh_begin(&ctx, &host->activation);
    gh_outcome outcome = gh_perform(&ctx, &gh_node_of_component, GH_T(params));
    gh_test_outcome told = {kinds[outcome.kind], kept(host, outcome.json), "", outcome.category, kept(host, outcome.message), kept(host, outcome.details)};
    table *targets = &host->kept;
    gh_test_added(targets, GH_T(""), GH_T(""));
    for (size_t at = 0; at < outcome.target_count; at++) {
        const gh_target *target = &outcome.targets[at];
        const char *so_far = targets->entries[targets->count - 1].text;
        int length = snprintf(NULL, 0, "%s %s(%s)", so_far, target->node.data, target->argument.data) + 1;
        char *longer = gh_test_checked(malloc((size_t)length));
        snprintf(longer, (size_t)length, target->is_send ? "%s%s%s(%s)" : "%s%s%s", so_far, at == 0 ? "" : " ", target->node.data, target->argument.data);
        kept(host, GH_T(longer));
        free(longer);
    }
    told.targets = targets->entries[targets->count - 1].text;
    gh_end(&ctx);
    gh_test_current = before;
    return told;
}

const char *gh_test_describe(gh_test *host)
{
    gh_context ctx;
    gh_text written = {"", 0};
    const gh_node *node = &gh_node_of_component;
    if (gh_begin(&ctx, &host->activation)) {
        gh_json wants = gh_object(&ctx), description = gh_object(&ctx);
        for (size_t at = 0; node->wants != NULL && node->wants[at].interface != NULL; at++) {
            gh_put(&ctx, wants, node->wants[at].interface, node->wants[at].why);
        }
        gh_put(&ctx, description, "summary", node->summary);
        gh_put(&ctx, description, "params", gh_schema(&ctx, node->params()));
        gh_put(&ctx, description, "result", gh_schema(&ctx, node->result()));
        gh_put(&ctx, description, "wants", wants);
        if (!gh_write_json(&ctx, description, &written)) written = ctx.message;
    }
    const char *told = kept(host, written);
    gh_end(&ctx);
    return told;
}

static const char *text_of(const table *in, const char *name)
{
    struct entry *entry = gh_test_found(in, GH_T(name));
    return entry == NULL ? NULL : entry->text;
}

const char *gh_test_file_content(const gh_test *host, const char *path)
{
    return text_of(&host->files, path);
}

const char *gh_test_knowledge_text(const gh_test *host, const char *key)
{
    return text_of(&host->knowledge, key);
}

const char *gh_test_log(const gh_test *host, size_t at)
{
    return at < host->lines.count ? host->lines.entries[at].text : NULL;
}

const char *gh_test_record(const gh_test *host, size_t at)
{
    return at < host->records.count ? host->records.entries[at].text : NULL;
}

void gh_test_check(bool is_met, const char *what, const char *file, int line)
{
    checks++;
    if (is_met) return;
    failures++;
    fprintf(stderr, "%s:%d: not met: %s\n", file, line, what);
}

void gh_test_check_text(const char *actual, const char *expected, const char *file, int line)
{
    bool is_met = actual != NULL && strcmp(actual, expected) == 0;
    gh_test_check(is_met, expected, file, line);
    if (!is_met) fprintf(stderr, "    it is: %s\n", actual == NULL ? "nothing" : actual);
}

void gh_test_check_result(gh_test *host, const char *params, const char *expected, const char *file, int line)
{
    gh_test_outcome outcome = gh_test_call(host, params);
    gh_test_check_text(outcome.kind == GH_TEST_RESULT ? outcome.json : outcome.message, expected, file, line);
}

void gh_test_check_failure(gh_test *host, const char *params, gh_category expected, const char *file, int line)
{
    gh_test_outcome outcome = gh_test_call(host, params);
    bool is_met = outcome.kind == GH_TEST_FAILURE && outcome.category == expected;
    gh_test_check(is_met, params, file, line);
    if (!is_met) fprintf(stderr, "    it is: %s\n", outcome.kind == GH_TEST_FAILURE ? outcome.message : outcome.json);
}

int gh_test_report(void)
{
    printf("%zu checks, %zu not met\n", checks, failures);
    return failures == 0 ? 0 : 1;
}

/* --- What a node calls ------------------------------------------------------------------------------------------------------ */

static void noted(table *in, const char *first, gh_text second)
{
    size_t length = strlen(first) + 1 + second.length;
    char *both = gh_test_checked(malloc(length + 1));
    snprintf(both, length + 1, "%s %s", first, second.data);
    gh_test_added(in, GH_T(""), gh_text_at(both, length));
    free(both);
}

void gh_host_log(gh_context *ctx, gh_level level, gh_text line)
{
    static const char *const levels[] = {"trace", "debug", "info", "warn", "error"};
    (void)ctx;
    noted(&gh_test_current->lines, levels[level], line);
}

bool gh_host_emit(gh_context *ctx, gh_text name, gh_text payload)
{
    (void)ctx;
    noted(&gh_test_current->records, name.data, payload);
    return true;
}

bool gh_host_call(gh_context *ctx, gh_text item, gh_text params, gh_text *result)
{
    struct entry *entry = gh_test_found(&gh_test_current->items, item);
    gh_json given, value = NULL;
    if (entry == NULL) return gh_fail(ctx, GH_DENIED, "`%s` may not be called", item.data);
    return gh_parse(ctx, params, &given) && entry->perform(ctx, given, &value) && gh_write_json(ctx, value, result);
}

gh_time gh_now(gh_context *ctx)
{
    (void)ctx;
    return gh_test_current->time;
}

void gh_sleep(gh_context *ctx, uint64_t nanoseconds)
{
    (void)ctx;
    uint64_t sum = gh_test_current->time.nanoseconds + nanoseconds % 1000000000;
    gh_test_current->time.seconds += nanoseconds / 1000000000 + sum / 1000000000;
    gh_test_current->time.nanoseconds = (uint32_t)(sum % 1000000000);
}

bool gh_random(gh_context *ctx, void *bytes, size_t count)
{
    (void)ctx;
    for (size_t at = 0; at < count; at++) {
        gh_test_current->random = gh_test_current->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ((unsigned char *)bytes)[at] = (unsigned char)(gh_test_current->random >> 56);
    }
    return true;
}

bool gh_test_given(gh_context *ctx, const struct entry *entry, gh_text *text)
{
    return gh_copy(ctx, entry->text, entry->length, text);
}

bool gh_knowledge_get_key(gh_context *ctx, gh_text key, gh_text *text, bool *is_found)
{
    const struct entry *entry = gh_test_found(&gh_test_current->knowledge, key);
    *is_found = entry != NULL;
    *text = GH_T("");
    return entry == NULL || gh_test_given(ctx, entry, text);
}

bool gh_knowledge_put_key(gh_context *ctx, gh_text key, gh_text text)
{
    if (!gh_check_utf8(ctx, key, "a key") || !gh_check_utf8(ctx, text, "an entry")) return false;
    gh_test_set(&gh_test_current->knowledge, key, text);
    return true;
}

int gh_test_by_name(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->name, ((const struct entry *)right)->name);
}

static bool begins(const char *name, gh_text prefix)
{
    return strlen(name) >= prefix.length && (prefix.length == 0 || memcmp(name, prefix.data, prefix.length) == 0);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The next word from `at` on; its length is 0 if there is none. */
static gh_text next_word(const char *at)
{
    size_t length = 0;
    while (is_space(*at)) at++;
    while (at[length] != 0 && !is_space(at[length])) length++;
    return gh_text_at(at, length);
}

static bool has_word(const char *text, gh_text word)
{
    for (gh_text own = next_word(text); own.length > 0; own = next_word(own.data + own.length)) {
        size_t at = 0;
        while (at < own.length && own.length == word.length && lower(own.data[at]) == lower(word.data[at])) at++;
        if (at == word.length && at == own.length) return true;
    }
    return false;
}

/* Whether a text has all words of a query, whole ones; letters of ASCII may be small or capital. */
static bool has_words(const char *text, gh_text query)
{
    for (gh_text word = next_word(query.data); word.length > 0; word = next_word(word.data + word.length)) {
        if (!has_word(text, word)) return false;
    }
    return true;
}

static bool listed(gh_context *ctx, gh_text prefix, gh_text after, gh_text query, uint32_t limit, gh_hits *hits)
{
    table *in = &gh_test_current->knowledge;
    if (in->count > 0) qsort(in->entries, in->count, sizeof *in->entries, gh_test_by_name);
    hits->count = 0;
    hits->items = gh_alloc_array(ctx, in->count, sizeof *hits->items);
    if (hits->items == NULL) return false;
    for (size_t at = 0; at < in->count && hits->count < limit; at++) {
        const struct entry *entry = &in->entries[at];
        bool is_after = after.length == 0 || strcmp(entry->name, after.data) > 0;
        if (!is_after || !begins(entry->name, prefix) || !has_words(entry->text, query)) continue;
        gh_hit *hit = &hits->items[hits->count++];
        if (!gh_copy(ctx, entry->name, strlen(entry->name), &hit->key) || !gh_test_given(ctx, entry, &hit->excerpt)) return false;
    }
    return true;
}

bool gh_knowledge_search_in(gh_context *ctx, gh_text prefix, gh_text query, uint32_t limit, gh_hits *hits)
{
    return listed(ctx, prefix, GH_T(""), query, limit, hits);
}

bool gh_knowledge_list_in(gh_context *ctx, gh_text prefix, gh_text after, uint32_t limit, gh_texts *keys)
{
    gh_hits hits;
    if (!listed(ctx, prefix, after, GH_T(""), limit, &hits)) return false;
    keys->count = hits.count;
    keys->items = gh_alloc_array(ctx, hits.count, sizeof *keys->items);
    for (size_t at = 0; keys->items != NULL && at < hits.count; at++) keys->items[at] = hits.items[at].key;
    return keys->items != NULL;
}

bool gh_secret_named(gh_context *ctx, gh_text name, gh_text *handle)
{
    const struct entry *entry = gh_test_found(&gh_test_current->secrets, name);
    if (entry == NULL) return gh_fail(ctx, GH_DENIED, "no secret `%s` is granted", name.data);
    return gh_test_given(ctx, entry, handle);
}

bool gh_secret_names(gh_context *ctx, gh_texts *names)
{
    const table *in = &gh_test_current->secrets;
    names->count = in->count;
    names->items = gh_alloc_array(ctx, in->count, sizeof *names->items);
    for (size_t at = 0; names->items != NULL && at < in->count; at++) {
        if (!gh_copy(ctx, in->entries[at].name, strlen(in->entries[at].name), &names->items[at])) return false;
    }
    return names->items != NULL;
}

bool gh_http_send(gh_context *ctx, const gh_request *request, gh_response *response)
{
    gh_request whole = *request;
    if (whole.method.length == 0) whole.method = GH_T("GET");
    whole.body = gh_text_of_text(whole.body);
    whole.url = gh_text_of_text(whole.url);
    if (!gh_equal(gh_text_at(whole.url.data, whole.url.length < 7 ? 0 : 7), "http://") &&
        !gh_equal(gh_text_at(whole.url.data, whole.url.length < 8 ? 0 : 8), "https://")) {
        bool has_scheme = strstr(whole.url.data, "://") != NULL;
        return gh_fail(ctx, GH_INVALID_INPUT, "%s: a URL begins with https://%s", whole.url.data, has_scheme ? " or http://" : "");
    }
    /* What is behind a `#` is not sent. */
    const char *fragment = memchr(whole.url.data, '#', whole.url.length);
    if (fragment != NULL && !gh_copy(ctx, whole.url.data, (size_t)(fragment - whole.url.data), &whole.url)) return false;
    if (gh_test_current->serve == NULL) return gh_fail(ctx, GH_DENIED, "%s: the request is not granted", whole.url.data);
    *response = (gh_response){.status = 200};
    return gh_test_current->serve(ctx, &whole, response);
}
