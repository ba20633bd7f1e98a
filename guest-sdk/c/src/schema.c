/* Types: decoded from JSON, encoded as JSON, and their schemas. */
#include <string.h>

#include "internal.h"

#define SIMPLE(name, kind)                                                    \
    const gh_type *name##_type(void)                                          \
    {                                                                         \
        static const gh_type type = {kind, sizeof(name), NULL, NULL, NULL, 0}; \
        return &type;                                                         \
    }
SIMPLE(gh_nothing, GH_KIND_NOTHING)
SIMPLE(gh_no_params, GH_KIND_RECORD)
SIMPLE(gh_bool, GH_KIND_BOOL)
SIMPLE(gh_int, GH_KIND_INT)
SIMPLE(gh_uint, GH_KIND_UINT)
SIMPLE(gh_number, GH_KIND_NUMBER)
SIMPLE(gh_text, GH_KIND_TEXT)
SIMPLE(gh_json, GH_KIND_JSON)

/* Every list has this layout. */
typedef struct gh_any_list {
    void *items;
    size_t count;
} gh_any_list;

static const char *needed(const gh_type *type)
{
    switch (type->kind) {
    case GH_KIND_NOTHING: return "null";
    case GH_KIND_BOOL: return "a boolean";
    case GH_KIND_INT: return "an integer of 64 bits";
    case GH_KIND_UINT: return "an integer of 64 bits that is not negative";
    case GH_KIND_NUMBER: return "a number";
    case GH_KIND_TEXT: return "a text";
    case GH_KIND_JSON: return "a value";
    case GH_KIND_LIST: return "an array";
    case GH_KIND_RECORD: return "an object";
    case GH_KIND_CHOICE: return "one of the choices";
    }
    return "a value";
}

static bool wrong(gh_context *ctx, const gh_type *type, const char *at)
{
    return gh_fail(ctx, GH_INVALID_INPUT, "%s: %s is needed", at, needed(type));
}

static bool decode(gh_context *ctx, const gh_type *type, gh_json value, const char *at, void *out);

static bool decode_list(gh_context *ctx, const gh_type *type, gh_json value, const char *at, void *out)
{
    if (!gh_is_array(value)) return wrong(ctx, type, at);
    const gh_type *item = type->item();
    gh_any_list list = {NULL, gh_count(value)};
    list.items = gh_alloc_array(ctx, list.count, item->size);
    if (list.items == NULL) return false;
    size_t index, count;
    yyjson_mut_val *one;
    yyjson_mut_arr_foreach(gh_raw(value), index, count, one)
    {
        gh_text place;
        if (!gh_format(ctx, &place, "%s[%zu]", at, index)) return false;
        if (!decode(ctx, item, (gh_json)one, place.data, (char *)list.items + index * item->size)) return false;
    }
    memcpy(out, &list, sizeof list);
    return true;
}

static const gh_field *field_of(const gh_type *type, gh_text name)
{
    for (size_t at = 0; at < type->count; at++) {
        if (gh_equal(name, type->fields[at].name)) return &type->fields[at];
    }
    return NULL;
}

static bool decode_record(gh_context *ctx, const gh_type *type, gh_json value, const char *at, void *out)
{
    if (!gh_is_object(value)) return wrong(ctx, type, at);
    size_t index, count;
    yyjson_mut_val *key, *one;
    yyjson_mut_obj_foreach(gh_raw(value), index, count, key, one)
    {
        (void)one;
        gh_text name = gh_text_at(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        if (field_of(type, name) == NULL) return gh_fail(ctx, GH_INVALID_INPUT, "%s.%s: unknown key", at, name.data);
    }
    for (size_t number = 0; number < type->count; number++) {
        const gh_field *field = &type->fields[number];
        const gh_type *of = field->type();
        gh_json member = gh_member(value, field->name);
        bool is_required = field->present == SIZE_MAX;
        gh_text place;
        if (!gh_format(ctx, &place, "%s.%s", at, field->name)) return false;
        if (member == NULL && is_required) return gh_fail(ctx, GH_INVALID_INPUT, "%s: missing", place.data);
        if (!is_required) {
            /* Null is a value of its own where any JSON fits. */
            bool is_there = member != NULL && (of->kind == GH_KIND_JSON || !gh_is_null(member));
            memcpy((char *)out + field->present, &is_there, sizeof is_there);
            if (!is_there) continue;
        }
        if (!decode(ctx, of, member, place.data, (char *)out + field->offset)) return false;
    }
    return true;
}

static bool decode_choice(gh_context *ctx, const gh_type *type, gh_json value, const char *at, void *out)
{
    gh_text word;
    if (!gh_get_text(value, &word)) return wrong(ctx, type, at);
    for (size_t number = 0; number < type->count; number++) {
        if (!gh_equal(word, type->words[number])) continue;
        int chosen = (int)number;
        memcpy(out, &chosen, sizeof chosen);
        return true;
    }
    return gh_fail(ctx, GH_INVALID_INPUT, "%s: `%s` is none of the choices", at, word.data);
}

static bool decode(gh_context *ctx, const gh_type *type, gh_json value, const char *at, void *out)
{
    bool fits = false;
    switch (type->kind) {
    case GH_KIND_NOTHING: fits = gh_is_null(value); break;
    case GH_KIND_BOOL: fits = gh_get_bool(value, out); break;
    case GH_KIND_INT: fits = gh_get_int(value, out); break;
    case GH_KIND_UINT: fits = gh_get_uint(value, out); break;
    case GH_KIND_NUMBER: fits = gh_get_number(value, out); break;
    case GH_KIND_TEXT: fits = gh_get_text(value, out); break;
    case GH_KIND_JSON:
        *(gh_json *)out = value;
        fits = true;
        break;
    case GH_KIND_LIST: return decode_list(ctx, type, value, at, out);
    case GH_KIND_RECORD: return decode_record(ctx, type, value, at, out);
    case GH_KIND_CHOICE: return decode_choice(ctx, type, value, at, out);
    }
    return fits || wrong(ctx, type, at);
}

bool gh_decode_value(gh_context *ctx, const gh_type *type, gh_json value, const char *at, void *out)
{
    memset(out, 0, type->size);
    return decode(ctx, type, value, at, out);
}

static gh_json encode_list(gh_context *ctx, const gh_type *type, const void *value)
{
    gh_any_list list;
    memcpy(&list, value, sizeof list);
    const gh_type *item = type->item();
    gh_json array = gh_array(ctx);
    for (size_t at = 0; at < list.count; at++) {
        gh_add(ctx, array, gh_encode_value(ctx, item, (const char *)list.items + at * item->size));
    }
    return array;
}

static gh_json encode_record(gh_context *ctx, const gh_type *type, const void *value)
{
    gh_json object = gh_object(ctx);
    for (size_t at = 0; at < type->count; at++) {
        const gh_field *field = &type->fields[at];
        if (field->present != SIZE_MAX && !*(const bool *)((const char *)value + field->present)) continue;
        gh_put(ctx, object, field->name, gh_encode_value(ctx, field->type(), (const char *)value + field->offset));
    }
    return object;
}

gh_json gh_encode_value(gh_context *ctx, const gh_type *type, const void *value)
{
    switch (type->kind) {
    case GH_KIND_NOTHING: return NULL;
    case GH_KIND_BOOL: return gh_of_bool(ctx, *(const bool *)value);
    case GH_KIND_INT: return gh_of_int(ctx, *(const gh_int *)value);
    case GH_KIND_UINT: return gh_of_uint(ctx, *(const gh_uint *)value);
    case GH_KIND_NUMBER: return gh_of_number(ctx, *(const double *)value);
    case GH_KIND_TEXT: return gh_of_text(ctx, *(const gh_text *)value);
    case GH_KIND_JSON: return *(const gh_json *)value;
    case GH_KIND_LIST: return encode_list(ctx, type, value);
    case GH_KIND_RECORD: return encode_record(ctx, type, value);
    case GH_KIND_CHOICE: {
        int chosen;
        memcpy(&chosen, value, sizeof chosen);
        if (chosen >= 0 && (size_t)chosen < type->count) return gh_of_string(ctx, type->words[chosen]);
        gh_spoil(ctx, "a choice has a value that is none of it");
        return NULL;
    }
    }
    return NULL;
}

static const char *name_of(gh_kind kind)
{
    switch (kind) {
    case GH_KIND_NOTHING: return "null";
    case GH_KIND_BOOL: return "boolean";
    case GH_KIND_INT:
    case GH_KIND_UINT: return "integer";
    case GH_KIND_NUMBER: return "number";
    case GH_KIND_TEXT:
    case GH_KIND_CHOICE: return "string";
    case GH_KIND_LIST: return "array";
    case GH_KIND_RECORD: return "object";
    case GH_KIND_JSON: break;
    }
    return NULL;
}

static gh_json schema_of(gh_context *ctx, const gh_type *type, bool or_null)
{
    gh_json schema = gh_object(ctx);
    const char *name = name_of(type->kind);
    if (name != NULL && or_null) {
        gh_json names = gh_array(ctx);
        gh_add(ctx, names, name);
        gh_add(ctx, names, "null");
        gh_put(ctx, schema, "type", names);
    } else if (name != NULL) {
        gh_put(ctx, schema, "type", name);
    }
    if (type->kind == GH_KIND_UINT) gh_put(ctx, schema, "minimum", 0);
    if (type->kind == GH_KIND_LIST) gh_put(ctx, schema, "items", schema_of(ctx, type->item(), false));
    if (type->kind == GH_KIND_CHOICE) {
        gh_json words = gh_array(ctx);
        for (size_t at = 0; at < type->count; at++) gh_add(ctx, words, type->words[at]);
        if (or_null) gh_add(ctx, words, (gh_json)NULL);
        gh_put(ctx, schema, "enum", words);
    }
    if (type->kind != GH_KIND_RECORD) return schema;
    gh_json properties = gh_object(ctx), required = gh_array(ctx);
    for (size_t at = 0; at < type->count; at++) {
        const gh_field *field = &type->fields[at];
        bool is_required = field->present == SIZE_MAX;
        gh_json of = schema_of(ctx, field->type(), !is_required);
        if (field->about != NULL && field->about[0] != 0) gh_put(ctx, of, "description", field->about);
        gh_put(ctx, properties, field->name, of);
        if (is_required) gh_add(ctx, required, field->name);
    }
    gh_put(ctx, schema, "properties", properties);
    if (gh_count(required) > 0) gh_put(ctx, schema, "required", required);
    gh_put(ctx, schema, "additionalProperties", (bool)false);
    return schema;
}

gh_json gh_schema(gh_context *ctx, const gh_type *type)
{
    return schema_of(ctx, type, false);
}
