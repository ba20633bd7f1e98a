/* JSON values: made, read and written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* A value is in one place at most, since it has a link to its neighbour. A link that is set says that it is in a place; then a copy is
 * used. */
static gh_json fresh(gh_context *ctx, yyjson_mut_val *value)
{
    if (value == NULL) {
        gh_no_memory(ctx);
        return NULL;
    }
    value->next = NULL;
    return (gh_json)value;
}

static bool is_deeper(yyjson_mut_val *value, int than)
{
    if (!yyjson_mut_is_ctn(value)) return false;
    if (than == 0) return true;
    size_t at, count;
    yyjson_mut_val *key, *one;
    if (yyjson_mut_is_arr(value)) {
        yyjson_mut_arr_foreach(value, at, count, one)
        {
            if (is_deeper(one, than - 1)) return true;
        }
    } else {
        yyjson_mut_obj_foreach(value, at, count, key, one)
        {
            if (is_deeper(one, than - 1)) return true;
        }
    }
    return false;
}

static bool check_depth(gh_context *ctx, gh_json value)
{
    if (!is_deeper(gh_raw(value), GH_DEPTH)) return true;
    return gh_fail(ctx, GH_LIMIT, "a JSON value is nested deeper than %d", GH_DEPTH);
}

static yyjson_mut_val *placed(gh_context *ctx, gh_json value)
{
    yyjson_mut_val *raw = gh_raw(value);
    if (raw == NULL) raw = yyjson_mut_null(ctx->doc);
    else if (raw->next != NULL && is_deeper(raw, GH_DEPTH)) {
        gh_spoil(ctx, "a JSON value is nested deeper than 100");
        return NULL;
    } else if (raw->next != NULL) raw = yyjson_mut_val_mut_copy(ctx->doc, raw);
    if (raw == NULL) gh_no_memory(ctx);
    return raw;
}

gh_json gh_of_bool(gh_context *ctx, bool value)
{
    return fresh(ctx, yyjson_mut_bool(ctx->doc, value));
}

gh_json gh_of_int(gh_context *ctx, int64_t value)
{
    return fresh(ctx, yyjson_mut_sint(ctx->doc, value));
}

gh_json gh_of_uint(gh_context *ctx, uint64_t value)
{
    return fresh(ctx, yyjson_mut_uint(ctx->doc, value));
}

gh_json gh_of_number(gh_context *ctx, double value)
{
    return fresh(ctx, yyjson_mut_real(ctx->doc, value));
}

gh_json gh_of_text(gh_context *ctx, gh_text value)
{
    value = gh_text_of_text(value);
    return fresh(ctx, yyjson_mut_strncpy(ctx->doc, value.data, value.length));
}

gh_json gh_of_string(gh_context *ctx, const char *value)
{
    return gh_of_text(ctx, gh_text_of_string(value));
}

gh_json gh_of_json(gh_context *ctx, gh_json value)
{
    (void)ctx;
    return value;
}

gh_json gh_object(gh_context *ctx)
{
    return fresh(ctx, yyjson_mut_obj(ctx->doc));
}

gh_json gh_array(gh_context *ctx)
{
    return fresh(ctx, yyjson_mut_arr(ctx->doc));
}

void gh_put_value(gh_context *ctx, gh_json object, gh_text key, gh_json value)
{
    if (ctx->is_spoiled) return;
    if (!gh_is_object(object)) {
        gh_spoil(ctx, "`gh_put` needs an object");
        return;
    }
    yyjson_mut_val *raw = placed(ctx, value);
    if (raw == NULL) return;
    yyjson_mut_val *name = yyjson_mut_strncpy(ctx->doc, key.data, key.length);
    if (name == NULL || !yyjson_mut_obj_put(gh_raw(object), name, raw)) gh_no_memory(ctx);
}

void gh_add_value(gh_context *ctx, gh_json array, gh_json value)
{
    if (ctx->is_spoiled) return;
    if (!gh_is_array(array)) {
        gh_spoil(ctx, "`gh_add` needs an array");
        return;
    }
    yyjson_mut_val *raw = placed(ctx, value);
    if (raw != NULL && !yyjson_mut_arr_append(gh_raw(array), raw)) gh_no_memory(ctx);
}

/* The depth of a JSON text that is well formed. */
static size_t depth_of(gh_text text)
{
    size_t deepest = 0, depth = 0;
    bool in_string = false;
    for (size_t at = 0; at < text.length; at++) {
        char c = text.data[at];
        if (in_string) {
            if (c == '\\') at++;
            else if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > deepest) deepest = depth;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return deepest;
}

static int by_key(const void *left, const void *right)
{
    yyjson_val *one = *(yyjson_val *const *)left, *other = *(yyjson_val *const *)right;
    size_t length = yyjson_get_len(one), other_length = yyjson_get_len(other);
    int order = memcmp(yyjson_get_str(one), yyjson_get_str(other), length < other_length ? length : other_length);
    return order != 0 ? order : (length > other_length) - (length < other_length);
}

/* Refuses objects with one key twice: readers differ in which of the two counts. The value is nested at most GH_DEPTH deep. */
static bool check_keys(gh_context *ctx, yyjson_val *value)
{
    size_t at, count;
    yyjson_val *key, *one;
    if (yyjson_is_arr(value)) {
        yyjson_arr_foreach(value, at, count, one)
        {
            if (yyjson_is_ctn(one) && !check_keys(ctx, one)) return false;
        }
    }
    if (!yyjson_is_obj(value)) return true;
    yyjson_val **keys = gh_alloc_array(ctx, yyjson_obj_size(value), sizeof *keys);
    if (keys == NULL) return false;
    yyjson_obj_foreach(value, at, count, key, one)
    {
        keys[at] = key;
        if (yyjson_is_ctn(one) && !check_keys(ctx, one)) return false;
    }
    if (count > 1) qsort(keys, count, sizeof *keys, by_key);
    for (at = 1; at < count; at++) {
        if (by_key(&keys[at - 1], &keys[at]) == 0) {
            return gh_fail(ctx, GH_INVALID_INPUT, "this is no JSON text: an object has the key `%s` twice", yyjson_get_str(keys[at]));
        }
    }
    return true;
}

bool gh_parse_text(gh_context *ctx, gh_text text, gh_json *value)
{
    text = gh_text_of_text(text);
    yyjson_read_err error = {0};
    /* It is copied: only text that may be changed is read in its place. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text.data, text.length, 0, &ctx->doc->alc, &error);
    if (doc == NULL) {
        if (ctx->is_spoiled || error.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) return gh_no_memory(ctx);
        return gh_fail(ctx, GH_INVALID_INPUT, "this is no JSON text: %s at byte %zu", error.msg, error.pos);
    }
    if (depth_of(text) > GH_DEPTH) {
        return gh_fail(ctx, GH_INVALID_INPUT, "a JSON text is nested deeper than %d", GH_DEPTH);
    }
    if (!check_keys(ctx, yyjson_doc_get_root(doc))) return false;
    *value = fresh(ctx, yyjson_val_mut_copy(ctx->doc, yyjson_doc_get_root(doc)));
    return *value != NULL;
}

bool gh_write_json(gh_context *ctx, gh_json value, gh_text *text)
{
    if (ctx->is_spoiled) return false;
    if (value == NULL) {
        *text = gh_text_at("null", 4);
        return true;
    }
    if (!check_depth(ctx, value)) return false;
    yyjson_write_err error = {0};
    size_t length = 0;
    char *written = yyjson_mut_val_write_opts(gh_raw(value), 0, &ctx->doc->alc, &length, &error);
    if (written == NULL) {
        if (ctx->is_spoiled || error.code == YYJSON_WRITE_ERROR_MEMORY_ALLOCATION) return gh_no_memory(ctx);
        if (error.code == YYJSON_WRITE_ERROR_NAN_OR_INF) return gh_fail(ctx, GH_INTERNAL, "a number is not finite");
        if (error.code == YYJSON_WRITE_ERROR_INVALID_STRING) return gh_fail(ctx, GH_INTERNAL, "a text is not UTF-8");
        return gh_fail(ctx, GH_INTERNAL, "a value cannot be written as JSON: %s", error.msg);
    }
    *text = gh_text_at(written, length);
    return true;
}

bool gh_is_null(gh_json value)
{
    return value == NULL || yyjson_mut_is_null(gh_raw(value));
}

bool gh_is_object(gh_json value)
{
    return yyjson_mut_is_obj(gh_raw(value));
}

bool gh_is_array(gh_json value)
{
    return yyjson_mut_is_arr(gh_raw(value));
}

bool gh_get_bool(gh_json value, bool *out)
{
    if (!yyjson_mut_is_bool(gh_raw(value))) return false;
    *out = yyjson_mut_get_bool(gh_raw(value));
    return true;
}

/* Both limits are powers of two, which a double holds exactly. */
#define TWO_63 9223372036854775808.0
#define TWO_64 18446744073709551616.0

bool gh_get_int(gh_json value, int64_t *out)
{
    yyjson_mut_val *raw = gh_raw(value);
    if (yyjson_mut_is_sint(raw)) {
        *out = yyjson_mut_get_sint(raw);
        return true;
    }
    if (yyjson_mut_is_uint(raw)) {
        uint64_t number = yyjson_mut_get_uint(raw);
        if (number > INT64_MAX) return false;
        *out = (int64_t)number;
        return true;
    }
    double number = yyjson_mut_is_real(raw) ? yyjson_mut_get_real(raw) : NAN;
    if (!(number >= -TWO_63 && number < TWO_63) || (double)(int64_t)number != number) return false;
    *out = (int64_t)number;
    return true;
}

bool gh_get_uint(gh_json value, uint64_t *out)
{
    yyjson_mut_val *raw = gh_raw(value);
    if (yyjson_mut_is_uint(raw)) {
        *out = yyjson_mut_get_uint(raw);
        return true;
    }
    if (yyjson_mut_is_sint(raw)) {
        int64_t number = yyjson_mut_get_sint(raw);
        if (number < 0) return false;
        *out = (uint64_t)number;
        return true;
    }
    double number = yyjson_mut_is_real(raw) ? yyjson_mut_get_real(raw) : NAN;
    if (!(number >= 0 && number < TWO_64) || (double)(uint64_t)number != number) return false;
    *out = (uint64_t)number;
    return true;
}

bool gh_get_number(gh_json value, double *out)
{
    yyjson_mut_val *raw = gh_raw(value);
    if (!yyjson_mut_is_num(raw)) return false;
    if (yyjson_mut_is_real(raw)) *out = yyjson_mut_get_real(raw);
    else if (yyjson_mut_is_sint(raw)) *out = (double)yyjson_mut_get_sint(raw);
    else *out = (double)yyjson_mut_get_uint(raw);
    return true;
}

bool gh_get_text(gh_json value, gh_text *out)
{
    if (!yyjson_mut_is_str(gh_raw(value))) return false;
    *out = gh_text_at(yyjson_mut_get_str(gh_raw(value)), yyjson_mut_get_len(gh_raw(value)));
    return true;
}

size_t gh_count(gh_json value)
{
    if (gh_is_object(value)) return yyjson_mut_obj_size(gh_raw(value));
    return yyjson_mut_arr_size(gh_raw(value));
}

gh_iterator gh_iterate(gh_json value)
{
    gh_iterator iterator = {value, NULL, gh_count(value)};
    /* The last member of a container is what it has a link to; for an object it is the last key. */
    if (iterator.left > 0) iterator.last = (gh_json)gh_raw(value)->uni.ptr;
    return iterator;
}

bool gh_next(gh_iterator *iterator, gh_text *key, gh_json *value)
{
    if (iterator->left == 0) return false;
    iterator->left--;
    gh_text name = {"", 0};
    yyjson_mut_val *next = gh_raw(iterator->last);
    bool is_object = gh_is_object(iterator->of);
    /* The values of an object are between its keys, and after the last one comes the first again. */
    next = is_object ? next->next->next : next->next;
    iterator->last = (gh_json)next;
    if (is_object) name = gh_text_at(yyjson_mut_get_str(next), yyjson_mut_get_len(next));
    if (key != NULL) *key = name;
    *value = (gh_json)(is_object ? next->next : next);
    return true;
}

gh_json gh_item(gh_json array, size_t at)
{
    return (gh_json)yyjson_mut_arr_get(gh_raw(array), at);
}

gh_json gh_member_value(gh_json object, gh_text key)
{
    return (gh_json)yyjson_mut_obj_getn(gh_raw(object), key.data, key.length);
}

gh_text gh_key(gh_json object, size_t at)
{
    gh_text found = {"", 0};
    size_t index, count;
    yyjson_mut_val *key, *value;
    if (!gh_is_object(object)) return found;
    yyjson_mut_obj_foreach(gh_raw(object), index, count, key, value)
    {
        (void)value;
        if (index == at) return gh_text_at(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
    }
    return found;
}
