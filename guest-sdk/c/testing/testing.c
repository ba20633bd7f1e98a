/* The host of plain values. */
#include "../include/graph_host_testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/internal.h"

/* Texts by name, in the order in which they were set. */
typedef struct table {
    struct entry {
        char *name;
        char *text;
        size_t length;
        gh_test_perform *perform;
    } *entries;
    size_t count;
} table;

struct gh_test {
    table files, folders, knowledge, secrets, items, lines, records, kept;
    gh_activation activation;
    gh_time time;
    uint64_t random;
    gh_test_serve *serve;
};

static gh_test *current;
static size_t allocations, checks, failures;

static void *checked(void *memory)
{
    if (memory == NULL) {
        fputs("the test ran out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

static char *copied(const char *data, size_t length)
{
    char *copy = checked(malloc(length + 1));
    if (length > 0) memcpy(copy, data, length);
    copy[length] = 0;
    return copy;
}

static struct entry *found(const table *in, gh_text name)
{
    for (size_t at = 0; at < in->count; at++) {
        if (gh_equal(name, in->entries[at].name)) return &in->entries[at];
    }
    return NULL;
}

static struct entry *added(table *to, gh_text name, gh_text text)
{
    to->entries = checked(realloc(to->entries, (to->count + 1) * sizeof *to->entries));
    struct entry *entry = &to->entries[to->count++];
    *entry = (struct entry){copied(name.data, name.length), copied(text.data, text.length), text.length, NULL};
    return entry;
}

static struct entry *set(table *in, gh_text name, gh_text text)
{
    struct entry *entry = found(in, name);
    if (entry == NULL) return added(in, name, text);
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
    return added(&host->kept, GH_T(""), gh_text_of_text(text))->text;
}

gh_test *gh_test_new(void)
{
    gh_test *host = checked(calloc(1, sizeof *host));
    gh_text empty = GH_T("");
    host->activation = (gh_activation){empty, empty, empty, empty, empty, 1, GH_T("1.0"), 1, 1, empty, {NULL, 0}, empty};
    host->random = 1;
    return host;
}

void gh_test_free(gh_test *host)
{
    table *tables[] = {&host->files, &host->folders, &host->knowledge, &host->secrets, &host->items, &host->lines, &host->records, &host->kept};
    for (size_t at = 0; at < sizeof tables / sizeof tables[0]; at++) emptied(tables[at]);
    free(host->activation.answers.items);
    free(host);
}

void gh_test_file(gh_test *host, const char *path, const char *content)
{
    set(&host->files, GH_T(path), GH_T(content));
}

void gh_test_folder(gh_test *host, const char *path)
{
    set(&host->folders, GH_T(path), GH_T(""));
}

void gh_test_knowledge(gh_test *host, const char *key, const char *text)
{
    set(&host->knowledge, GH_T(key), GH_T(text));
}

void gh_test_secret(gh_test *host, const char *name, const char *handle)
{
    set(&host->secrets, GH_T(name), GH_T(handle));
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
    answers->items = checked(realloc(answers->items, (answers->count + 1) * sizeof *answers->items));
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
    set(&host->items, GH_T(id), GH_T(""))->perform = perform;
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
    gh_test *before = current;
    gh_context ctx;
    current = host;
    gh_begin(&ctx, &host->activation);
    gh_outcome outcome = gh_perform(&ctx, &gh_node_of_component, GH_T(params));
    gh_test_outcome told = {kinds[outcome.kind], kept(host, outcome.json), "", outcome.category, kept(host, outcome.message), kept(host, outcome.details)};
    table *targets = &host->kept;
    added(targets, GH_T(""), GH_T(""));
    for (size_t at = 0; at < outcome.target_count; at++) {
        const gh_target *target = &outcome.targets[at];
        const char *so_far = targets->entries[targets->count - 1].text;
        int length = snprintf(NULL, 0, "%s %s(%s)", so_far, target->node.data, target->argument.data) + 1;
        char *longer = checked(malloc((size_t)length));
        snprintf(longer, (size_t)length, target->is_send ? "%s%s%s(%s)" : "%s%s%s", so_far, at == 0 ? "" : " ", target->node.data, target->argument.data);
        kept(host, GH_T(longer));
        free(longer);
    }
    told.targets = targets->entries[targets->count - 1].text;
    gh_end(&ctx);
    current = before;
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
    struct entry *entry = found(in, GH_T(name));
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
    char *both = checked(malloc(length + 1));
    snprintf(both, length + 1, "%s %s", first, second.data);
    added(in, GH_T(""), gh_text_at(both, length));
    free(both);
}

void gh_host_log(gh_context *ctx, gh_level level, gh_text line)
{
    static const char *const levels[] = {"trace", "debug", "info", "warn", "error"};
    (void)ctx;
    noted(&current->lines, levels[level], line);
}

bool gh_host_emit(gh_context *ctx, gh_text name, gh_text payload)
{
    (void)ctx;
    noted(&current->records, name.data, payload);
    return true;
}

bool gh_host_call(gh_context *ctx, gh_text item, gh_text params, gh_text *result)
{
    struct entry *entry = found(&current->items, item);
    gh_json given, value = NULL;
    if (entry == NULL) return gh_fail(ctx, GH_DENIED, "`%s` may not be called", item.data);
    return gh_parse(ctx, params, &given) && entry->perform(ctx, given, &value) && gh_write_json(ctx, value, result);
}

gh_time gh_now(gh_context *ctx)
{
    (void)ctx;
    return current->time;
}

void gh_sleep(gh_context *ctx, uint64_t nanoseconds)
{
    (void)ctx;
    uint64_t sum = current->time.nanoseconds + nanoseconds % 1000000000;
    current->time.seconds += nanoseconds / 1000000000 + sum / 1000000000;
    current->time.nanoseconds = (uint32_t)(sum % 1000000000);
}

bool gh_random(gh_context *ctx, void *bytes, size_t count)
{
    (void)ctx;
    for (size_t at = 0; at < count; at++) {
        current->random = current->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ((unsigned char *)bytes)[at] = (unsigned char)(current->random >> 56);
    }
    return true;
}

static bool given(gh_context *ctx, const struct entry *entry, gh_text *text)
{
    return gh_copy(ctx, entry->text, entry->length, text);
}

bool gh_knowledge_get_key(gh_context *ctx, gh_text key, gh_text *text, bool *is_found)
{
    const struct entry *entry = found(&current->knowledge, key);
    *is_found = entry != NULL;
    *text = GH_T("");
    return entry == NULL || given(ctx, entry, text);
}

bool gh_knowledge_put_key(gh_context *ctx, gh_text key, gh_text text)
{
    if (!gh_check_utf8(ctx, key, "a key") || !gh_check_utf8(ctx, text, "an entry")) return false;
    set(&current->knowledge, key, text);
    return true;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(((const struct entry *)left)->name, ((const struct entry *)right)->name);
}

static bool begins(const char *name, gh_text prefix)
{
    return strlen(name) >= prefix.length && (prefix.length == 0 || memcmp(name, prefix.data, prefix.length) == 0);
}

/* Whether a text has all words of a query: as they are written, also within other words. */
static bool has_words(const char *text, gh_text query)
{
    char *words = copied(query.data, query.length);
    bool has_all = true;
    for (char *word = strtok(words, " \n\t"); word != NULL && has_all; word = strtok(NULL, " \n\t")) has_all = strstr(text, word) != NULL;
    free(words);
    return has_all;
}

static bool listed(gh_context *ctx, gh_text prefix, gh_text after, gh_text query, uint32_t limit, gh_hits *hits)
{
    table *in = &current->knowledge;
    if (in->count > 0) qsort(in->entries, in->count, sizeof *in->entries, by_name);
    hits->count = 0;
    hits->items = gh_alloc_array(ctx, in->count, sizeof *hits->items);
    if (hits->items == NULL) return false;
    for (size_t at = 0; at < in->count && hits->count < limit; at++) {
        const struct entry *entry = &in->entries[at];
        bool is_after = after.length == 0 || strcmp(entry->name, after.data) > 0;
        if (!is_after || !begins(entry->name, prefix) || !has_words(entry->text, query)) continue;
        gh_hit *hit = &hits->items[hits->count++];
        if (!gh_copy(ctx, entry->name, strlen(entry->name), &hit->key) || !given(ctx, entry, &hit->excerpt)) return false;
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
    const struct entry *entry = found(&current->secrets, name);
    if (entry == NULL) return gh_fail(ctx, GH_DENIED, "no secret `%s` is granted", name.data);
    return given(ctx, entry, handle);
}

bool gh_secret_names(gh_context *ctx, gh_texts *names)
{
    const table *in = &current->secrets;
    names->count = in->count;
    names->items = gh_alloc_array(ctx, in->count, sizeof *names->items);
    for (size_t at = 0; names->items != NULL && at < in->count; at++) {
        if (!gh_copy(ctx, in->entries[at].name, strlen(in->entries[at].name), &names->items[at])) return false;
    }
    return names->items != NULL;
}

static bool is_below(gh_text path, const char *folder)
{
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/') length--;
    if (path.length < length || memcmp(path.data, folder, length) != 0) return false;
    return path.length == length || path.data[length] == '/';
}

static bool granted(gh_context *ctx, gh_text path)
{
    const table *folders = &current->folders;
    if (folders->count == 0 && is_below(path, "/")) return true;
    for (size_t at = 0; at < folders->count; at++) {
        if (is_below(path, folders->entries[at].name)) return true;
    }
    return gh_fail(ctx, GH_DENIED, "%s: lies in no granted folder", path.data);
}

static bool is_folder(gh_text path)
{
    if (gh_equal(path, "/") || found(&current->folders, path) != NULL) return true;
    for (size_t at = 0; at < current->files.count; at++) {
        gh_text name = GH_T(current->files.entries[at].name);
        if (name.length > path.length && path.length > 0 && memcmp(name.data, path.data, path.length) == 0 && name.data[path.length] == '/') return true;
    }
    return false;
}

static bool file_at(gh_context *ctx, gh_text path, struct entry **file)
{
    if (!granted(ctx, path)) return false;
    *file = found(&current->files, path);
    if (*file != NULL) return true;
    if (is_folder(path)) return gh_fail(ctx, GH_INVALID_INPUT, "%s: Is a directory, similar to `EISDIR` in POSIX.", path.data);
    return gh_fail(ctx, GH_INVALID_INPUT, "%s: No such file or directory, similar to `ENOENT` in POSIX.", path.data);
}

bool gh_file_read_at(gh_context *ctx, gh_text path, gh_text *content)
{
    struct entry *file;
    return file_at(ctx, path, &file) && given(ctx, file, content);
}

bool gh_file_write_at(gh_context *ctx, gh_text path, gh_text content)
{
    if (!granted(ctx, path)) return false;
    if (is_folder(path)) return gh_fail(ctx, GH_INVALID_INPUT, "%s: Is a directory, similar to `EISDIR` in POSIX.", path.data);
    set(&current->files, path, content);
    return true;
}

bool gh_file_stat_at(gh_context *ctx, gh_text path, gh_stat *stat)
{
    struct entry *file;
    if (granted(ctx, path) && is_folder(path)) {
        *stat = (gh_stat){GH_FOLDER, 0};
        return true;
    }
    if (!file_at(ctx, path, &file)) return false;
    *stat = (gh_stat){GH_FILE, file->length};
    return true;
}

bool gh_folder_list_at(gh_context *ctx, gh_text path, gh_entries *entries)
{
    table *in = &current->files;
    size_t prefix = path.length;
    if (!granted(ctx, path)) return false;
    if (!is_folder(path)) return gh_fail(ctx, GH_INVALID_INPUT, "%s: Not a directory or a symbolic link to a directory, similar to `ENOTDIR` in POSIX.", path.data);
    while (prefix > 0 && path.data[prefix - 1] == '/') prefix--;
    if (in->count > 0) qsort(in->entries, in->count, sizeof *in->entries, by_name);
    entries->count = 0;
    entries->items = gh_alloc_array(ctx, in->count, sizeof *entries->items);
    if (entries->items == NULL) return false;
    for (size_t at = 0; at < in->count; at++) {
        const char *name = in->entries[at].name;
        if (!is_below(GH_T(name), path.data) || name[prefix] != '/') continue;
        const char *rest = name + prefix + 1, *end = strchr(rest, '/');
        size_t length = end == NULL ? strlen(rest) : (size_t)(end - rest);
        gh_entry *last = entries->count == 0 ? NULL : &entries->items[entries->count - 1];
        if (last != NULL && gh_equal(last->name, gh_text_at(rest, length))) continue;
        gh_entry *next = &entries->items[entries->count++];
        next->kind = end == NULL ? GH_FILE : GH_FOLDER;
        if (!gh_copy(ctx, rest, length, &next->name)) return false;
    }
    return true;
}

bool gh_folder_create_at(gh_context *ctx, gh_text path)
{
    if (!granted(ctx, path)) return false;
    if (is_folder(path) || found(&current->files, path) != NULL) return gh_fail(ctx, GH_PERMANENT, "%s: File exists, similar to `EEXIST` in POSIX.", path.data);
    /* With `/` granted, a folder that is named must not become the only one. */
    if (current->folders.count == 0) gh_test_folder(current, "/");
    set(&current->folders, path, GH_T(""));
    return true;
}

bool gh_file_remove_at(gh_context *ctx, gh_text path)
{
    struct entry *file;
    if (!file_at(ctx, path, &file)) return false;
    free(file->name);
    free(file->text);
    *file = current->files.entries[--current->files.count];
    return true;
}

bool gh_http_send(gh_context *ctx, const gh_request *request, gh_response *response)
{
    gh_request whole = *request;
    if (whole.method.length == 0) whole.method = GH_T("GET");
    whole.body = gh_text_of_text(whole.body);
    if (current->serve == NULL) return gh_fail(ctx, GH_DENIED, "%s: the request is not granted", whole.url.data);
    *response = (gh_response){.status = 200};
    return current->serve(ctx, &whole, response);
}
