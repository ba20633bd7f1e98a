/* Requests over HTTP. */
#include "bound.h"

/* How much of a body one host call writes: as much as a stream takes at once. */
#define WRITE ((size_t)4096)
#define READ ((size_t)256 * 1024)

static bool invalid(gh_context *ctx, gh_text url, const char *what)
{
    return gh_fail(ctx, GH_INVALID_INPUT, "%s: %s", url.data, what);
}

static bool refused(gh_context *ctx, gh_text url, wasi_http_types_error_code_t *error)
{
    static const struct {
        uint8_t code;
        gh_category category;
        const char *what;
    } codes[] = {
        {WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_DENIED, GH_DENIED, "the request is not granted"},
        {WASI_HTTP_TYPES_ERROR_CODE_DESTINATION_IP_PROHIBITED, GH_DENIED, "its address is not granted"},
        {WASI_HTTP_TYPES_ERROR_CODE_DNS_ERROR, GH_TRANSIENT, "its name could not be looked up"},
        {WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_REFUSED, GH_TRANSIENT, "the server takes no connections"},
        {WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_TERMINATED, GH_TRANSIENT, "the server ended the connection"},
        {WASI_HTTP_TYPES_ERROR_CODE_CONNECTION_TIMEOUT, GH_TIMEOUT, "the server did not answer in time"},
        {WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_TIMEOUT, GH_TIMEOUT, "the server did not answer in time"},
        {WASI_HTTP_TYPES_ERROR_CODE_TLS_CERTIFICATE_ERROR, GH_PERMANENT, "the server's certificate is refused"},
        {WASI_HTTP_TYPES_ERROR_CODE_TLS_PROTOCOL_ERROR, GH_PERMANENT, "no secure connection came about"},
        {WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_BODY_SIZE, GH_LIMIT, "the request is too long"},
        {WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_BODY_SIZE, GH_LIMIT, "the response is too long"},
        {WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_HEADER_SECTION_SIZE, GH_LIMIT, "the response has too many fields"},
        {WASI_HTTP_TYPES_ERROR_CODE_HTTP_RESPONSE_CONTENT_CODING, GH_DENIED, "the response is encoded"},
        {WASI_HTTP_TYPES_ERROR_CODE_HTTP_REQUEST_URI_INVALID, GH_INVALID_INPUT, "it is no URL that can be asked for"},
    };
    uint8_t code = error->tag;
    wasi_http_types_error_code_free(error);
    for (size_t at = 0; at < sizeof codes / sizeof codes[0]; at++) {
        if (codes[at].code == code) return gh_fail(ctx, codes[at].category, "%s: %s", url.data, codes[at].what);
    }
    return gh_fail(ctx, GH_PERMANENT, "%s: the server does not speak HTTP as it should", url.data);
}

static wasi_http_types_method_t method_of(gh_text name)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
    wasi_http_types_method_t method = {.tag = WASI_HTTP_TYPES_METHOD_GET};
    if (name.length == 0) return method;
    for (uint8_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        method.tag = at;
        if (gh_equal(name, names[at])) return method;
    }
    method.tag = WASI_HTTP_TYPES_METHOD_OTHER;
    method.val.other = gh_lent(name);
    return method;
}

typedef struct parts {
    wasi_http_types_scheme_t scheme;
    built_string_t authority;
    built_string_t path;
} parts;

static bool parse_url(gh_context *ctx, gh_text url, parts *of)
{
    size_t begin;
    if (!gh_check_utf8(ctx, url, "a URL")) return false;
    if (url.length >= 8 && memcmp(url.data, "https://", 8) == 0) {
        begin = 8;
        of->scheme.tag = WASI_HTTP_TYPES_SCHEME_HTTPS;
    } else if (url.length >= 7 && memcmp(url.data, "http://", 7) == 0) {
        begin = 7;
        of->scheme.tag = WASI_HTTP_TYPES_SCHEME_HTTP;
    } else {
        return invalid(ctx, url, strstr(url.data, "://") == NULL ? "a URL begins with https://" : "a URL begins with https:// or http://");
    }
    size_t end = begin;
    while (end < url.length && url.data[end] != '#') end++;
    size_t path = begin;
    while (path < end && url.data[path] != '/' && url.data[path] != '?') path++;
    of->authority = gh_lent(gh_text_at(url.data + begin, path - begin));
    of->path = gh_lent(gh_text_at(url.data + path, end - path));
    return true;
}

static bool make_fields(gh_context *ctx, const gh_request *request, wasi_http_types_own_fields_t *fields)
{
    wasi_http_types_list_tuple2_field_name_field_value_t list = {NULL, request->header_count};
    list.ptr = gh_alloc_array(ctx, request->header_count, sizeof *list.ptr);
    if (list.ptr == NULL) return false;
    for (size_t at = 0; at < request->header_count; at++) {
        const gh_header *header = &request->headers[at];
        if (!gh_check_utf8(ctx, header->name, "the name of a header")) return false;
        list.ptr[at].f0 = gh_lent(header->name);
        list.ptr[at].f1.ptr = (uint8_t *)(uintptr_t)header->value.data;
        list.ptr[at].f1.len = header->value.length;
    }
    wasi_http_types_header_error_t error;
    return wasi_http_types_static_fields_from_list(&list, fields, &error) || invalid(ctx, request->url, "one of its fields may not be sent");
}

static bool write_body(gh_context *ctx, const gh_request *request, wasi_http_types_own_outgoing_body_t body)
{
    wasi_http_types_own_output_stream_t stream;
    if (!wasi_http_types_method_outgoing_body_write(wasi_http_types_borrow_outgoing_body(body), &stream)) {
        return gh_fail(ctx, GH_INTERNAL, "the host takes no body");
    }
    bool is_written = true;
    for (size_t at = 0; at < request->body.length && is_written; at += WRITE) {
        size_t rest = request->body.length - at;
        built_list_u8_t chunk = {(uint8_t *)(uintptr_t)request->body.data + at, rest < WRITE ? rest : WRITE};
        wasi_io_streams_stream_error_t error;
        is_written = wasi_io_streams_method_output_stream_blocking_write_and_flush(wasi_io_streams_borrow_output_stream(stream), &chunk, &error);
        if (!is_written) {
            wasi_io_streams_stream_error_free(&error);
            invalid(ctx, request->url, "its body cannot be written");
        }
    }
    wasi_io_streams_output_stream_drop_own(stream);
    return is_written;
}

static bool prepare(gh_context *ctx, const gh_request *request, wasi_http_types_own_outgoing_request_t *outgoing)
{
    parts url = {0};
    wasi_http_types_own_fields_t fields;
    wasi_http_types_own_outgoing_body_t body;
    wasi_http_types_error_code_t error;
    if (!parse_url(ctx, request->url, &url) || !gh_check_utf8(ctx, request->method, "a method")) return false;
    if (!make_fields(ctx, request, &fields)) return false;
    *outgoing = wasi_http_types_constructor_outgoing_request(fields);
    wasi_http_types_borrow_outgoing_request_t of = wasi_http_types_borrow_outgoing_request(*outgoing);
    wasi_http_types_method_t method = method_of(request->method);
    const char *wrong = NULL;
    if (!wasi_http_types_method_outgoing_request_set_method(of, &method)) wrong = "its method is none";
    else if (!wasi_http_types_method_outgoing_request_set_scheme(of, &url.scheme)) wrong = "its scheme is none";
    else if (!wasi_http_types_method_outgoing_request_set_authority(of, &url.authority)) wrong = "its host is none";
    else if (!wasi_http_types_method_outgoing_request_set_path_with_query(of, &url.path)) wrong = "its path is none";
    bool is_ready = wrong == NULL ? true : invalid(ctx, request->url, wrong);
    if (is_ready && !wasi_http_types_method_outgoing_request_body(of, &body)) is_ready = gh_fail(ctx, GH_INTERNAL, "the host takes no body");
    else if (is_ready && !write_body(ctx, request, body)) {
        wasi_http_types_outgoing_body_drop_own(body);
        is_ready = false;
    } else if (is_ready && !wasi_http_types_static_outgoing_body_finish(body, NULL, &error)) is_ready = refused(ctx, request->url, &error);
    if (!is_ready) wasi_http_types_outgoing_request_drop_own(*outgoing);
    return is_ready;
}

static bool wait_for(gh_context *ctx, gh_text url, wasi_http_types_own_future_incoming_response_t pending, wasi_http_types_own_incoming_response_t *response)
{
    wasi_http_types_borrow_future_incoming_response_t of = wasi_http_types_borrow_future_incoming_response(pending);
    wasi_http_types_own_pollable_t ready = wasi_http_types_method_future_incoming_response_subscribe(of);
    wasi_io_poll_method_pollable_block(wasi_io_poll_borrow_pollable(ready));
    wasi_io_poll_pollable_drop_own(ready);
    /* Errors for a response that is not there yet, for one that was taken before, and for the request. */
    wasi_http_types_result_result_own_incoming_response_error_code_void_t answer;
    if (!wasi_http_types_method_future_incoming_response_get(of, &answer) || answer.is_err) {
        return gh_fail(ctx, GH_INTERNAL, "the host gave no response");
    }
    if (answer.val.ok.is_err) return refused(ctx, url, &answer.val.ok.val.err);
    *response = answer.val.ok.val.ok;
    return true;
}

static bool read_fields(gh_context *ctx, wasi_http_types_own_fields_t fields, gh_response *response)
{
    wasi_http_types_list_tuple2_field_name_field_value_t list = {0};
    wasi_http_types_method_fields_entries(wasi_http_types_borrow_fields(fields), &list);
    wasi_http_types_fields_drop_own(fields);
    response->headers = gh_alloc_array(ctx, list.len, sizeof *response->headers);
    response->header_count = response->headers == NULL ? 0 : list.len;
    bool is_copied = response->headers != NULL;
    for (size_t at = 0; at < response->header_count && is_copied; at++) {
        is_copied = gh_copy(ctx, list.ptr[at].f0.ptr, list.ptr[at].f0.len, &response->headers[at].name) &&
                    gh_copy(ctx, list.ptr[at].f1.ptr, list.ptr[at].f1.len, &response->headers[at].value);
    }
    wasi_http_types_list_tuple2_field_name_field_value_free(&list);
    return is_copied;
}

static bool read_stream(gh_context *ctx, wasi_io_streams_borrow_input_stream_t stream, gh_text *content)
{
    size_t room = 1, length = 0;
    char *bytes = gh_alloc(ctx, room);
    while (bytes != NULL) {
        built_list_u8_t more = {0};
        wasi_io_streams_stream_error_t error;
        if (!wasi_io_streams_method_input_stream_blocking_read(stream, READ, &more, &error)) {
            bool is_end = error.tag == WASI_IO_STREAMS_STREAM_ERROR_CLOSED;
            wasi_io_streams_stream_error_free(&error);
            if (!is_end) return gh_fail(ctx, GH_TRANSIENT, "the response ended before it was complete");
            *content = gh_text_at(bytes, length);
            return true;
        }
        if (length + more.len + 1 > room) {
            room = (length + more.len + 1) * 2;
            char *larger = gh_alloc(ctx, room);
            if (larger != NULL) memcpy(larger, bytes, length);
            bytes = larger;
        }
        if (bytes != NULL && more.len > 0) memcpy(bytes + length, more.ptr, more.len);
        length += more.len;
        built_list_u8_free(&more);
    }
    return false;
}

static bool read_response(gh_context *ctx, wasi_http_types_borrow_incoming_response_t from, gh_response *response)
{
    wasi_http_types_own_incoming_body_t body;
    wasi_http_types_own_input_stream_t stream;
    response->status = wasi_http_types_method_incoming_response_status(from);
    if (!read_fields(ctx, wasi_http_types_method_incoming_response_headers(from), response)) return false;
    if (!wasi_http_types_method_incoming_response_consume(from, &body)) return gh_fail(ctx, GH_INTERNAL, "the host gave no body");
    bool is_read = wasi_http_types_method_incoming_body_stream(wasi_http_types_borrow_incoming_body(body), &stream) ||
                   gh_fail(ctx, GH_INTERNAL, "the host gave no body");
    if (is_read) {
        is_read = read_stream(ctx, wasi_io_streams_borrow_input_stream(stream), &response->body);
        wasi_io_streams_input_stream_drop_own(stream);
    }
    wasi_http_types_incoming_body_drop_own(body);
    return is_read;
}

bool gh_http_send(gh_context *ctx, const gh_request *request, gh_response *response)
{
    gh_request whole = *request;
    wasi_http_types_own_outgoing_request_t outgoing;
    wasi_http_types_own_future_incoming_response_t pending;
    wasi_http_types_own_incoming_response_t incoming;
    wasi_http_types_error_code_t error;
    whole.url = gh_text_of_text(whole.url);
    if (!prepare(ctx, &whole, &outgoing)) return false;
    if (!wasi_http_outgoing_handler_handle(outgoing, NULL, &pending, &error)) return refused(ctx, whole.url, &error);
    bool is_there = wait_for(ctx, whole.url, pending, &incoming);
    wasi_http_types_future_incoming_response_drop_own(pending);
    if (!is_there) return false;
    *response = (gh_response){0};
    bool is_read = read_response(ctx, wasi_http_types_borrow_incoming_response(incoming), response);
    wasi_http_types_incoming_response_drop_own(incoming);
    return is_read;
}
