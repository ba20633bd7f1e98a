/* Write a node of a graph in C: a function, with lists of fields that give the schemas of its params and its result.
 *
 *     #define PARAMS(REQUIRED, OPTIONAL) \
 *         REQUIRED(gh_text, name, "Whom to greet.")
 *     GH_RECORD(params, PARAMS);
 *
 *     static bool run(gh_context *ctx, const params *given, gh_text *result)
 *     {
 *         return gh_format(ctx, result, "Hello, %s!", given->name.data);
 *     }
 *
 *     GH_NODE(params, gh_text, run, .summary = "Greets someone.")
 *
 * A function that returns `bool` returns false where it failed, and the failure is then in the context: a node returns false as well, or
 * continues if it can do without. All memory belongs to the call and is released at its end. Where a text is taken, a `gh_text` or a
 * `char *` can be passed.
 */
#ifndef GRAPH_HOST_SDK_H
#define GRAPH_HOST_SDK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In C11 `true` and `false` are of type `int`: `gh_put(ctx, object, "done", true)` would write 1. */
#if !defined(__STDC_VERSION__) || __STDC_VERSION__ < 202311L
#undef true
#undef false
#define true ((bool)1)
#define false ((bool)0)
#endif

/* The call. */
typedef struct gh_context gh_context;

/* Text or bytes. A zero byte follows, which `length` does not count; there may be others before it. */
typedef struct gh_text {
    const char *data;
    size_t length;
} gh_text;

/* A JSON value, which belongs to the call. NULL is null. */
typedef struct gh_value *gh_json;

typedef bool gh_bool;
typedef int64_t gh_int;
typedef uint64_t gh_uint;
typedef double gh_number;
/* What a node without a result has as its result. */
typedef struct gh_nothing {
    char unused;
} gh_nothing;
/* What a node without params takes: an empty object. */
typedef struct gh_no_params {
    char unused;
} gh_no_params;

/* What kind of failure it is. The retry policy of a graph goes by it. */
typedef enum gh_category {
    GH_TRANSIENT,
    GH_RATE_LIMITED,
    GH_TIMEOUT,
    GH_PERMANENT,
    GH_INVALID_INPUT,
    GH_DENIED,
    GH_LIMIT,
    GH_INTERNAL
} gh_category;

typedef enum gh_level { GH_TRACE, GH_DEBUG, GH_INFO, GH_WARN, GH_ERROR } gh_level;

#if defined(__GNUC__)
#define GH_PRINTS(string, first) __attribute__((format(printf, string, first)))
#define GH_UNUSED __attribute__((unused))
#else
#define GH_PRINTS(string, first)
#define GH_UNUSED
#endif

/* --- Texts ------------------------------------------------------------------------------------------------------------------ */

gh_text gh_text_of_string(const char *string);
gh_text gh_text_of_text(gh_text text);
#define GH_T(text) _Generic((text), gh_text: gh_text_of_text, char *: gh_text_of_string, const char *: gh_text_of_string)(text)

/* Memory of the call, filled with zeros; NULL if there is none left, which is then the failure of the call. */
void *gh_alloc(gh_context *ctx, size_t size);
/* An array; likewise. */
void *gh_alloc_array(gh_context *ctx, size_t count, size_t size);
/* A copy of bytes. */
bool gh_copy(gh_context *ctx, const void *data, size_t length, gh_text *copy);
/* A text as `printf` makes it. For `gh_int` write `"%" PRId64`, for `gh_uint` `"%" PRIu64`, both of `<inttypes.h>`: `long` has 32 bits in a
 * component. */
bool gh_format(gh_context *ctx, gh_text *text, const char *format, ...) GH_PRINTS(3, 4);
bool gh_equal_text(gh_text left, gh_text right);
#define gh_equal(left, right) gh_equal_text(GH_T(left), GH_T(right))

/* --- Failures --------------------------------------------------------------------------------------------------------------- */

/* Sets the failure of the call, in place of an earlier one, and returns false. The message is for a person. */
bool gh_fail(gh_context *ctx, gh_category category, const char *format, ...) GH_PRINTS(3, 4);
/* The same with details for a program. */
bool gh_fail_with(gh_context *ctx, gh_category category, gh_json details, const char *format, ...) GH_PRINTS(4, 5);
/* What the latest failure was. */
bool gh_failed(const gh_context *ctx, gh_category *category, gh_text *message);
/* Its details; NULL without any. */
gh_json gh_failure_details(const gh_context *ctx);

/* --- JSON ------------------------------------------------------------------------------------------------------------------- */

gh_json gh_of_bool(gh_context *ctx, bool value);
gh_json gh_of_int(gh_context *ctx, int64_t value);
gh_json gh_of_uint(gh_context *ctx, uint64_t value);
gh_json gh_of_number(gh_context *ctx, double value);
gh_json gh_of_text(gh_context *ctx, gh_text value);
gh_json gh_of_string(gh_context *ctx, const char *value);
gh_json gh_of_json(gh_context *ctx, gh_json value);
/* The JSON value of a value of C. `a > b`, `!a` and `a && b` have the type `int` in C: write `(bool)(a > b)`. */
#define gh_of(ctx, value)                                                                                                            \
    _Generic((value),                                                                                                                \
        bool: gh_of_bool, short: gh_of_int, int: gh_of_int, long: gh_of_int, long long: gh_of_int, unsigned char: gh_of_uint, unsigned short: gh_of_uint, \
        unsigned: gh_of_uint, unsigned long: gh_of_uint, unsigned long long: gh_of_uint, float: gh_of_number, double: gh_of_number, \
        gh_text: gh_of_text, char *: gh_of_string, const char *: gh_of_string, gh_json: gh_of_json)(ctx, value)

gh_json gh_object(gh_context *ctx);
gh_json gh_array(gh_context *ctx);
/* Puts a value into an object, in place of one that the key has. It looks at all keys: an object of thousands takes an array of pairs. */
void gh_put_value(gh_context *ctx, gh_json object, gh_text key, gh_json value);
#define gh_put(ctx, object, key, value) gh_put_value(ctx, object, GH_T(key), gh_of(ctx, value))
/* Adds a value to an array. */
void gh_add_value(gh_context *ctx, gh_json array, gh_json value);
#define gh_add(ctx, array, value) gh_add_value(ctx, array, gh_of(ctx, value))

/* The value of a JSON text. Integers of 64 bits stay exact. An object that has one key twice is refused. */
bool gh_parse_text(gh_context *ctx, gh_text text, gh_json *value);
#define gh_parse(ctx, text, value) gh_parse_text(ctx, GH_T(text), value)
/* A value as JSON text. Numbers that are not finite, texts that are not UTF-8 and nesting deeper than 100 are refused. */
bool gh_write_json(gh_context *ctx, gh_json value, gh_text *text);

bool gh_is_null(gh_json value);
bool gh_is_object(gh_json value);
bool gh_is_array(gh_json value);
/* These return false, and change nothing, if the value is none of the type or does not fit. */
bool gh_get_bool(gh_json value, bool *out);
bool gh_get_int(gh_json value, int64_t *out);
bool gh_get_uint(gh_json value, uint64_t *out);
bool gh_get_number(gh_json value, double *out);
bool gh_get_text(gh_json value, gh_text *out);
/* How many items or members a value has. */
size_t gh_count(gh_json value);
/* Goes through the items of an array, or the members of an object, in their order:
 *
 *     gh_iterator members = gh_iterate(object);
 *     gh_text key;
 *     gh_json value;
 *     while (gh_next(&members, &key, &value)) ...
 *
 * `key` may be NULL, and is an empty text for an item. What is gone through must not be changed meanwhile. */
typedef struct gh_iterator {
    gh_json of;
    gh_json last;
    size_t left;
} gh_iterator;
gh_iterator gh_iterate(gh_json value);
bool gh_next(gh_iterator *iterator, gh_text *key, gh_json *value);
/* An item of an array; NULL if there is none. This and `gh_key` count from the beginning: `gh_next` goes through all of a long one. */
gh_json gh_item(gh_json array, size_t at);
/* A member of an object; NULL if there is none. */
gh_json gh_member_value(gh_json object, gh_text key);
#define gh_member(object, key) gh_member_value(object, GH_T(key))
/* The key of a member by its place; an empty text if there is none. */
gh_text gh_key(gh_json object, size_t at);

/* --- Types ------------------------------------------------------------------------------------------------------------------ */

typedef enum gh_kind {
    GH_KIND_NOTHING,
    GH_KIND_BOOL,
    GH_KIND_INT,
    GH_KIND_UINT,
    GH_KIND_NUMBER,
    GH_KIND_TEXT,
    GH_KIND_JSON,
    GH_KIND_LIST,
    GH_KIND_RECORD,
    GH_KIND_CHOICE
} gh_kind;

typedef struct gh_type gh_type;
/* A function, since the address of a static object is no constant inside of another one. */
typedef const gh_type *(*gh_typed)(void);

typedef struct gh_field {
    const char *name;
    const char *about;
    gh_typed type;
    size_t offset;
    /* Where `has_NAME` is; SIZE_MAX for a field that is required. */
    size_t present;
} gh_field;

struct gh_type {
    gh_kind kind;
    size_t size;
    gh_typed item;
    const gh_field *fields;
    const char *const *words;
    size_t count;
};

const gh_type *gh_nothing_type(void);
const gh_type *gh_no_params_type(void);
const gh_type *gh_bool_type(void);
const gh_type *gh_int_type(void);
const gh_type *gh_uint_type(void);
const gh_type *gh_number_type(void);
const gh_type *gh_text_type(void);
const gh_type *gh_json_type(void);

/* Defines a struct, with its decoder, its encoder and its schema, from a list of fields:
 *
 *     #define PARAMS(REQUIRED, OPTIONAL) REQUIRED(TYPE, NAME, "DESCRIPTION") OPTIONAL(TYPE, NAME, "DESCRIPTION")
 *
 * A field that is optional may be left out or null; `has_NAME` says whether it is there. */
#define GH_RECORD(record, LIST)                                                                                                      \
    typedef struct record {                                                                                                          \
        LIST(GH_MEMBER_REQUIRED, GH_MEMBER_OPTIONAL)                                                                                 \
    } record;                                                                                                                        \
    GH_UNUSED static const gh_type *record##_type(void)                                                                              \
    {                                                                                                                                \
        typedef record gh_self;                                                                                                      \
        static const gh_field fields[] = {LIST(GH_FIELD_REQUIRED, GH_FIELD_OPTIONAL)};                                               \
        static const gh_type type = {GH_KIND_RECORD, sizeof(gh_self), NULL, fields, NULL, sizeof fields / sizeof fields[0]};         \
        return &type;                                                                                                                \
    }                                                                                                                                \
    GH_NEEDS_SEMICOLON(record)
#define GH_MEMBER_REQUIRED(type, name, about) type name;
#define GH_MEMBER_OPTIONAL(type, name, about) \
    type name;                                \
    bool has_##name;
#define GH_FIELD_REQUIRED(type, name, about) {#name, about, type##_type, offsetof(gh_self, name), SIZE_MAX},
#define GH_FIELD_OPTIONAL(type, name, about) {#name, about, type##_type, offsetof(gh_self, name), offsetof(gh_self, has_##name)},

/* Defines a list with `items` and `count`. */
#define GH_LIST(list, of)                                                                              \
    typedef struct list {                                                                              \
        of *items;                                                                                     \
        size_t count;                                                                                  \
    } list;                                                                                            \
    GH_UNUSED static const gh_type *list##_type(void)                                                  \
    {                                                                                                  \
        static const gh_type type = {GH_KIND_LIST, sizeof(list), of##_type, NULL, NULL, 0};            \
        return &type;                                                                                  \
    }                                                                                                  \
    GH_NEEDS_SEMICOLON(list)

/* Defines an enum whose values are texts in JSON:
 *
 *     #define COLORS(CHOICE) CHOICE(RED, "red") CHOICE(BLUE, "blue") */
#define GH_CHOICE(choice, LIST)                                                                                                      \
    typedef enum choice { LIST(GH_CHOICE_VALUE) choice##_count } choice;                                                             \
    GH_UNUSED static const gh_type *choice##_type(void)                                                                              \
    {                                                                                                                                \
        static const char *const words[] = {LIST(GH_CHOICE_WORD)};                                                                   \
        static const gh_type type = {GH_KIND_CHOICE, sizeof(choice), NULL, NULL, words, choice##_count};                             \
        return &type;                                                                                                                \
    }                                                                                                                                \
    GH_NEEDS_SEMICOLON(choice)
#define GH_CHOICE_VALUE(value, word) value,
#define GH_CHOICE_WORD(value, word) word,

#define GH_NEEDS_SEMICOLON(name) struct name##_needs_a_semicolon

GH_LIST(gh_texts, gh_text);

/* The value of a type from JSON; `at` is where it is, for errors, such as "response". What does not fit is a failure of category
 * `invalid-input` that names its path. */
bool gh_decode_value(gh_context *ctx, const gh_type *type, gh_json value, const char *at, void *out);
#define gh_decode(ctx, type, value, at, out) gh_decode_value(ctx, type##_type(), value, at, (type *){out})
/* JSON from the value of a type. */
gh_json gh_encode_value(gh_context *ctx, const gh_type *type, const void *value);
#define gh_encode(ctx, type, value) gh_encode_value(ctx, type##_type(), (const type *){value})
/* The JSON Schema (2020-12) of a type. */
gh_json gh_schema(gh_context *ctx, const gh_type *type);

/* --- The node --------------------------------------------------------------------------------------------------------------- */

typedef struct gh_want {
    const char *interface;
    const char *why;
} gh_want;

typedef struct gh_node {
    /* What the node does, in one sentence. */
    const char *summary;
    /* The interfaces that it uses: `GH_WANTS`. What is used and not named there is taken out of the component. */
    const gh_want *wants;
    gh_typed params;
    gh_typed result;
    bool (*run)(gh_context *ctx, const void *params, void *result);
} gh_node;

extern const gh_node gh_node_of_component;

/* The node of a component: the types of its params and its result, its function, `.summary` and, if it uses an interface, `.wants`. */
#define GH_NODE(params_, result_, run_, ...)                                                                                        \
    static bool gh_run_of_component(gh_context *ctx, const void *given, void *result)                                               \
    {                                                                                                                                \
        bool (*const typed)(gh_context *, const params_ *, result_ *) = run_;                                                       \
        return typed(ctx, given, result);                                                                                            \
    }                                                                                                                                \
    const gh_node gh_node_of_component = {                                                                                           \
        .params = params_##_type, .result = result_##_type, .run = gh_run_of_component, __VA_ARGS__}

/* Interfaces, each with why it is used: `GH_WANTS({"wasi:filesystem/types", "reads the notes"})`. */
#define GH_WANTS(...)                 \
    (const gh_want[])                 \
    {                                 \
        __VA_ARGS__, { NULL, NULL }   \
    }

/* The task that a node performs. */
typedef struct gh_activation {
    gh_text run_id;
    gh_text root_run_id;
    /* Empty if the run has no parent. */
    gh_text parent_run_id;
    gh_text graph_id;
    gh_text node_id;
    uint64_t superstep;
    gh_text task;
    uint32_t attempt;
    uint64_t visit;
    /* The argument of the send, or the item of the `foreach`, that made this task, as JSON text; empty without one. */
    gh_text argument;
    /* The answers to this task's questions so far, as JSON texts. */
    gh_texts answers;
    gh_text idempotency_key;
} gh_activation;

const gh_activation *gh_activation_of(const gh_context *ctx);
/* The argument of the send, or the item of the `foreach`, that made this task; null without one. */
bool gh_argument(gh_context *ctx, gh_json *argument);

/* Asks a person. Without an answer it returns false: the task is suspended, and when the answer is there the function runs again from its
 * top. What comes before a question must do the same again. */
bool gh_ask(gh_context *ctx, gh_json question, gh_json *answer);

/* A command in place of a result: writes to channels, and the nodes to go to, within what the graph's node entry allows. */
bool gh_write_value(gh_context *ctx, gh_text channel, gh_json value);
#define gh_write(ctx, channel, value) gh_write_value(ctx, GH_T(channel), gh_of(ctx, value))
bool gh_goto_node(gh_context *ctx, gh_text node);
#define gh_goto(ctx, node) gh_goto_node(ctx, GH_T(node))
/* Goes to a node as a task of its own, with an argument. */
bool gh_send_value(gh_context *ctx, gh_text node, gh_json argument);
#define gh_send(ctx, node, argument) gh_send_value(ctx, GH_T(node), gh_of(ctx, argument))

/* --- The host: what is always granted --------------------------------------------------------------------------------------- */

/* Writes a log line for the people who run the graph. */
void gh_log(gh_context *ctx, gh_level level, const char *format, ...) GH_PRINTS(3, 4);
/* Adds a record to the run's event stream. The name: letters, digits, `_`, `-`, `.` and `/`, at most 64 bytes. */
bool gh_emit_value(gh_context *ctx, gh_text name, gh_json payload);
#define gh_emit(ctx, name, payload) gh_emit_value(ctx, GH_T(name), gh_of(ctx, payload))

/* --- The clock: needs `wasi:clocks/wall-clock` in `wants` ------------------------------------------------------------------- */

typedef struct gh_time {
    /* Since 1970. */
    uint64_t seconds;
    uint32_t nanoseconds;
} gh_time;

/* The recorded time of the superstep, the same at every call and in a replay. */
gh_time gh_now(gh_context *ctx);
/* Lets time pass on the virtual clock, and returns at once. Needs `wasi:clocks/monotonic-clock`. */
void gh_sleep(gh_context *ctx, uint64_t nanoseconds);

/* --- Random numbers of the run: needs `wasi:random/random` in `wants` ------------------------------------------------------- */

bool gh_random(gh_context *ctx, void *bytes, size_t count);

/* --- Files in the granted folders: needs `wasi:filesystem/types` in `wants` ------------------------------------------------- */

typedef enum gh_entry_kind { GH_FILE, GH_FOLDER, GH_LINK, GH_OTHER } gh_entry_kind;

typedef struct gh_entry {
    gh_text name;
    gh_entry_kind kind;
} gh_entry;

typedef struct gh_entries {
    gh_entry *items;
    size_t count;
} gh_entries;

typedef struct gh_stat {
    /* A symbolic link is not followed. */
    gh_entry_kind kind;
    uint64_t size;
} gh_stat;

bool gh_file_read_at(gh_context *ctx, gh_text path, gh_text *content);
#define gh_file_read(ctx, path, content) gh_file_read_at(ctx, GH_T(path), content)
/* The content as UTF-8 text; a failure of category `permanent` if it is none. */
bool gh_file_read_text_at(gh_context *ctx, gh_text path, gh_text *content);
#define gh_file_read_text(ctx, path, content) gh_file_read_text_at(ctx, GH_T(path), content)
/* Writes a whole file, in place of what it held. */
bool gh_file_write_at(gh_context *ctx, gh_text path, gh_text content);
#define gh_file_write(ctx, path, content) gh_file_write_at(ctx, GH_T(path), GH_T(content))
/* The entries of a folder, in order of their names. */
bool gh_folder_list_at(gh_context *ctx, gh_text path, gh_entries *entries);
#define gh_folder_list(ctx, path, entries) gh_folder_list_at(ctx, GH_T(path), entries)
bool gh_file_stat_at(gh_context *ctx, gh_text path, gh_stat *found);
#define gh_file_stat(ctx, path, found) gh_file_stat_at(ctx, GH_T(path), found)
bool gh_folder_create_at(gh_context *ctx, gh_text path);
#define gh_folder_create(ctx, path) gh_folder_create_at(ctx, GH_T(path))
bool gh_file_remove_at(gh_context *ctx, gh_text path);
#define gh_file_remove(ctx, path) gh_file_remove_at(ctx, GH_T(path))

/* --- Knowledge: needs `graph-host:host/knowledge` in `wants` ---------------------------------------------------------------- */

typedef struct gh_hit {
    gh_text key;
    /* The part of the text that fits best, at most 500 bytes, on one line. */
    gh_text excerpt;
} gh_hit;

typedef struct gh_hits {
    gh_hit *items;
    size_t count;
} gh_hits;

/* The text of a key; `found` is false if there is no such entry. */
bool gh_knowledge_get_key(gh_context *ctx, gh_text key, gh_text *text, bool *found);
#define gh_knowledge_get(ctx, key, text, found) gh_knowledge_get_key(ctx, GH_T(key), text, found)
/* Writes the text of a key. It stays, whatever the task results in. */
bool gh_knowledge_put_key(gh_context *ctx, gh_text key, gh_text text);
#define gh_knowledge_put(ctx, key, text) gh_knowledge_put_key(ctx, GH_T(key), GH_T(text))
/* The entries below a prefix that hold all words of a query, best first; at most 100. */
bool gh_knowledge_search_in(gh_context *ctx, gh_text prefix, gh_text query, uint32_t limit, gh_hits *hits);
#define gh_knowledge_search(ctx, prefix, query, limit, hits) gh_knowledge_search_in(ctx, GH_T(prefix), GH_T(query), limit, hits)
/* The keys that begin with a prefix, from the one behind `after` on (empty: from the first); at most 1000. */
bool gh_knowledge_list_in(gh_context *ctx, gh_text prefix, gh_text after, uint32_t limit, gh_texts *keys);
#define gh_knowledge_list(ctx, prefix, after, limit, keys) gh_knowledge_list_in(ctx, GH_T(prefix), GH_T(after), limit, keys)

/* --- Secrets: needs `graph-host:host/secrets` in `wants` -------------------------------------------------------------------- */

/* The handle of a granted secret, to write into the one header that the secret is for. The host replaces it as the request leaves. */
bool gh_secret_named(gh_context *ctx, gh_text name, gh_text *handle);
#define gh_secret(ctx, name, handle) gh_secret_named(ctx, GH_T(name), handle)
bool gh_secret_names(gh_context *ctx, gh_texts *names);

/* --- Requests: needs `wasi:http/outgoing-handler` in `wants` ---------------------------------------------------------------- */

typedef struct gh_header {
    gh_text name;
    gh_text value;
} gh_header;

typedef struct gh_request {
    /* In capital letters; empty for GET. */
    gh_text method;
    gh_text url;
    const gh_header *headers;
    size_t header_count;
    gh_text body;
} gh_request;

typedef struct gh_response {
    uint16_t status;
    /* Names are in lower case. */
    gh_header *headers;
    size_t header_count;
    gh_text body;
} gh_response;

/* Sends a request and takes the whole response. The host follows no redirects. */
bool gh_http_send(gh_context *ctx, const gh_request *request, gh_response *response);
bool gh_http_get_url(gh_context *ctx, gh_text url, gh_response *response);
#define gh_http_get(ctx, url, response) gh_http_get_url(ctx, GH_T(url), response)
/* The first value of a header, by its name in lower case; empty without one. */
gh_text gh_response_header(const gh_response *response, const char *name);

/* --- Other items: needs `graph-host:host/tools` in `wants` ------------------------------------------------------------------ */

/* Calls an item and gives its result. Its failure is the failure of this call. */
bool gh_tool_call_item(gh_context *ctx, gh_text item, gh_json params, gh_json *result);
#define gh_tool_call(ctx, item, params, result) gh_tool_call_item(ctx, GH_T(item), params, result)

#endif
